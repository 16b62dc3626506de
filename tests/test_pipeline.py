"""The pipeline as it is declared: what a stage reads, runs and writes is what its dvc.yaml says."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest
from dvc.dependency.param import ParamsDependency
from dvc.repo import Repo
from dvc.stage import PipelineStage

from shared.params import PARAMS, read

CARRIES_NO_RESULT = {"shared/errors.py"}  # the words of errors, and how a stage ends with one

RESULTS = ("paper_tables", "figures")

HOME = re.compile(
    r"(?<![\w.~}])/(?:home|root|Users|work|workspace|mnt|tmp|private|scratch)/\w|\b[A-Z]:\\\\?\w"
)
PRIVATE_HOST = re.compile(
    r"://(?:10|172\.(?:1[6-9]|2\d|3[01])|192\.168)(?:\.\d+)+"
    r"|://[\w.-]+\.(?:internal|local|lan|corp|intranet)\b"
    r"|^\s*(?:--)?(?:extra-)?(?:index-url|find-links|trusted-host)\b",
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def stages(root) -> list[PipelineStage]:
    """Every stage of every dvc.yaml, matrices unrolled; a file that DVC can't read is an error here."""
    with Repo(str(root)) as repo:
        return [stage for stage in repo.index.stages if isinstance(stage, PipelineStage)]


@pytest.fixture(scope="module")
def committed(root) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and (root / name).is_file()]


def studies_of(root: Path) -> list[str]:
    return sorted(folder.parent.name for folder in (root / "studies").glob("*/__init__.py"))


def files_read(stage: PipelineStage) -> set[str]:
    """Paths of a stage's deps, params aside, relative to the root."""
    return {relative(dep) for dep in stage.deps if not isinstance(dep, ParamsDependency)}


def relative(part) -> str:
    return Path(part.fs_path).relative_to(part.repo.root_dir).as_posix()


def covers(paths: set[str], path: str) -> bool:
    """Whether the path or a folder above it is among the paths."""
    return not paths.isdisjoint({path, *map(str, PurePosixPath(path).parents)})


# --- stages ------------------------------------------------------------------------------------------


def test_every_study_declares_its_stages(root, stages):
    declared = {Path(stage.path).relative_to(root).as_posix() for stage in stages}
    assert declared == {"dvc.yaml", *(f"studies/{study}/dvc.yaml" for study in studies_of(root))}


def test_dvc_repro_reaches_every_study(root, stages):
    """`dvc repro` silently skips a study on which no root stage depends."""
    report = next(stage for stage in stages if stage.addressing == "report")
    for study in studies_of(root):
        own = [stage for stage in stages if stage.path_in_repo == f"studies/{study}/dvc.yaml"]
        results = {relative(out) for stage in own for out in stage.outs if relative(out).startswith(RESULTS)}
        assert {path.split("/")[0] for path in results} == set(RESULTS), f"{study} makes no tables or figures"
        missing = {path for path in results if not covers(files_read(report), path)}
        assert not missing, f"dvc.yaml, stage report: add to deps: {sorted(missing)}"


def test_what_a_stage_reads_is_there_or_made(root, stages):
    outs = {relative(out) for stage in stages for out in stage.outs}
    made = outs.union(*(map(str, PurePosixPath(out).parents) for out in outs))  # a folder of outs, too
    for stage in stages:
        absent = {path for path in files_read(stage) if not (root / path).exists() and not covers(made, path)}
        assert not absent, f"{stage.addressing}: deps that no stage makes: {sorted(absent)}"


def test_every_param_of_a_stage_is_in_params_yaml(root, stages):
    document = read(root / PARAMS)
    for stage in stages:
        for dep in stage.deps:
            if isinstance(dep, ParamsDependency):
                assert relative(dep) == str(PARAMS)
                unknown = [key for key in dep.params if not has_key(document, key)]
                assert not unknown, f"{stage.addressing}: params without a key: {unknown}"


def has_key(document: object, dotted: str) -> bool:
    for part in dotted.split("."):
        if not isinstance(document, dict) or part not in document:
            return False
        document = document[part]
    return True


def test_results_are_kept_in_git_and_the_rest_in_dvc(stages):
    """A reader sees tables and figures on the web; DVC's cache holds what is large."""
    for stage in stages:
        for out in stage.outs:
            assert out.use_cache == (not relative(out).startswith(RESULTS)), f"{stage.addressing}: {out}"


def test_every_template_is_a_dependency(root, stages):
    read_by_some = set().union(*map(files_read, stages))
    templates = {file.relative_to(root).as_posix() for file in (root / "studies").glob("*/prompts/*")}
    assert templates, "no template found"
    assert not {path for path in templates if not covers(read_by_some, path)}


# --- the code that a stage runs ----------------------------------------------------------------------


def test_a_stage_depends_on_all_the_code_that_it_runs(root, stages):
    for stage in stages:
        ran = modules_run(root, module_of(root, stage.cmd))
        missing = {path for path in ran - CARRIES_NO_RESULT if not covers(files_read(stage), path)}
        assert not missing, f"{stage.addressing}: add to deps: {sorted(missing)}"


def test_paths_alone_are_no_dependency(tmp_path):
    """Who imports only where a file lies does not run the code that writes it."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/writer.py").write_text("FILE = Path('x')\nNAMES = ('x',)\ndef write(): ...\n")
    for name, expected in (("FILE", False), ("NAMES", True), ("FILE, write", True)):
        (tmp_path / "shared/reader.py").write_text(f"def later():\n    from shared.writer import {name}\n")
        assert ("shared/writer.py" in modules_run(tmp_path, "shared/reader.py")) == expected


def test_imports_are_followed_to_the_end(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/a.py").write_text("from shared import b\nif TYPE_CHECKING:\n    import shared.d\n")
    (tmp_path / "shared/b.py").write_text("import shared.c\nimport json\n")
    (tmp_path / "shared/c.py").write_text("import shared.a\n")
    (tmp_path / "shared/d.py").write_text("")
    assert modules_run(tmp_path, "shared/a.py") == {"shared/a.py", "shared/b.py", "shared/c.py"}


def module_of(root: Path, command: str) -> str:
    """The file that ``python -m <module> ...`` runs."""
    words = command.split()
    assert words[:2] == ["python", "-m"], f"not a module of this repository: {command}"
    file = Path(*words[2].split(".")).with_suffix(".py")
    assert (root / file).is_file(), f"no such module: {command}"
    return file.as_posix()


def modules_run(root: Path, start: str) -> set[str]:
    """The module and all of this repository that it imports, and what that imports."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += imports(root, ast.parse((root / path).read_text(encoding="utf-8")))
    return found


def imports(root: Path, node: ast.AST) -> Iterator[str]:
    """Modules of this repository that a tree imports, inside functions too, but not for types alone."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from filter(None, (module_file(root, alias.name) for alias in node.names))
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "relative imports are not used here"
        yield from from_imports(root, str(node.module), [alias.name for alias in node.names])
    for child in ast.iter_child_nodes(node):
        yield from imports(root, child)


def from_imports(root: Path, module: str, names: list[str]) -> Iterator[str]:
    parts = {name: module_file(root, f"{module}.{name}") for name in names}
    yield from filter(None, parts.values())
    file = module_file(root, module)
    if file and not {name for name in names if parts[name] is None} <= paths_defined(root / file):
        yield file


def module_file(root: Path, module: str) -> str | None:
    if module.split(".")[0] not in ("studies", "shared"):
        return None
    base = Path(*module.split("."))
    choices = (base.with_suffix(".py"), base / "__init__.py")
    return next((file.as_posix() for file in choices if (root / file).is_file()), None)


def paths_defined(file: Path) -> set[str]:
    """Names that a module gives to paths: ``NAME = Path(...)``."""
    return {
        target.id
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Path(")
        for target in node.targets
        if isinstance(target, ast.Name)
    }


# --- what is committed -------------------------------------------------------------------------------


def test_no_committed_file_names_a_machine(root, committed):
    """Paths and hosts of whoever ran it last: they leak through results, locks and notebooks."""
    told = []
    for name in committed:
        text = (root / name).read_bytes().decode("utf-8", errors="ignore")
        for found in (HOME.search(text), PRIVATE_HOST.search(text), checkout(root).search(text)):
            if found:
                told.append(f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {found.group()}")
    assert not told, "\n".join(told)


def checkout(root: Path) -> re.Pattern[str]:
    """This working tree's own place; a folder directly under / is too short a name to look for."""
    place = re.escape(str(root)) if len(root.parts) > 2 else "(?!)"
    return re.compile(rf"{place}(?![\w-])")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("see /" + "home/someone/x", True),
        ("C:" + "\\Users\\someone", True),
        ("--index" + "-url https://example.org/simple", True),
        ("http://192.168" + ".0.7:8000/v1", True),
        ("http://127.0.0.1:8000/v1", False),
        ("https://api.example.org/v1/home/x", False),
        ("data/tmp/x and ~/" + "work/x", False),
    ],
)
def test_a_machine_is_known_by_its_paths_and_hosts(line, told):
    assert bool(HOME.search(line) or PRIVATE_HOST.search(line)) == told
