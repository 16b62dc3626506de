"""Reads params.yaml: the part that every study shares, and one study's section beside it.

A mistake is one line that names the full key and the fix, before any model loads::

    params.yaml: rationalization_probes.sets.equal.probs: unknown key; did you mean 'probes'?
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from shared.errors import UserError

PARAMS = Path("params.yaml")


class ParamsError(UserError):
    """params.yaml can't be used. One line: the file, the full key, what is wrong, the fix."""


# --- what a model of a section is made of -----------------------------------------------------------


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """``did you mean 'x'?`` for the nearest known word; all of them where none is near."""
    choices = list(known)
    near = get_close_matches(str(word), choices, n=1)
    return f"did you mean '{near[0]}'?" if near else f"use one of: {', '.join(choices) or '(none)'}"


def mistake(message: str, key: str = "") -> PydanticCustomError:
    """A validator's error in our own words, about ``key`` below the place that is validated."""
    # Handed over as context, not as the template, since braces in a message must stay what they are.
    return PydanticCustomError("mistake", "{text}", {"text": message, "key": key})


class Strict(BaseModel):
    """A block of params: no unknown keys, no silent conversion (``"4"`` is not 4), no changes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _only_known_keys(cls, data: Any) -> Any:
        # Before pydantic's own check, which would report a misspelt key twice: once as unknown, and
        # once as the missing one that was meant.
        if isinstance(data, Mapping):
            for key in data:
                if key not in cls.model_fields:
                    raise mistake(f"unknown key; {did_you_mean(key, cls.model_fields)}", str(key))
        return data


def _known_judge(slug: str, info: ValidationInfo) -> str:
    if info.context is None:
        return slug  # a section that is validated alone: nothing to compare with
    judges: Collection[str] = info.context["judges"]
    if slug not in judges:
        raise mistake(f"no judge '{slug}' under judges:; {did_you_mean(slug, judges)}")
    return slug


def _all_different(values: list[Any]) -> list[Any]:
    for index, value in enumerate(values):
        if value in values[:index]:
            raise mistake(f"'{value}' stands twice; remove one")
    return values


def keys(known: Collection[str], required: Collection[str] = ()) -> AfterValidator:
    """For a mapping: no key but ``known`` ones, and none of ``required`` lacking."""

    def check(mapping: dict[str, Any]) -> dict[str, Any]:
        for key in mapping:
            if key not in known:
                raise mistake(f"unknown key; {did_you_mean(key, known)}", key)
        for key in required:
            if key not in mapping:
                raise mistake("missing; add it", key)
        return mapping

    return AfterValidator(check)


def _path(value: Any) -> Path:
    if not isinstance(value, str) or not value:
        raise mistake(f"should be a path, not {_short(value)}")
    return Path(value)


T = TypeVar("T")
Distinct = Annotated[list[T], Field(min_length=1), AfterValidator(_all_different)]
"""A list of one value or more, none twice."""

JudgeSlug = Annotated[str, AfterValidator(_known_judge)]
"""The slug of a judge that stands under ``judges:``."""

FilePath = Annotated[Path, BeforeValidator(_path)]
"""A path, relative to the repository's root."""

Count = Annotated[int, Field(ge=1)]
Text = Annotated[str, Field(min_length=1)]
SetName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
"""What a set of trials is called."""


class Hub(Strict):
    """A data set on a hub, pinned: a branch's name would change under the study."""

    dataset: Text
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    split: Text


def check_source(name: str, source: str) -> None:
    """A mistake unless the data set called embedded, and no other, has the source of that name."""
    if (source == "embedded") != (name == "embedded"):
        fix = "use embedded" if name == "embedded" else "only the data set embedded is; use external"
        raise mistake(f"{source}, but {fix}", f"datasets.{name}.source")


def check_sets(sets: Mapping[str, Any], datasets: Mapping[Any, Any]) -> None:
    """A mistake unless the data sets that each set names are loaded.

    Parameters
    ----------
    sets : mapping of str to model
        What stands under ``sets:``, with ``items`` and ``datasets``, which may be None.
    datasets : mapping of str to model
        What stands under ``datasets:``, with ``items``.
    """
    for name, chosen in sets.items():
        for index, dataset in enumerate(chosen.datasets or []):
            key = f"sets.{name}.datasets.{index}"
            if dataset not in datasets:
                near = did_you_mean(dataset, datasets)
                raise mistake(f"no data set '{dataset}' under datasets:; {near}", key)
            if chosen.items != 0 and datasets[dataset].items == 0:
                raise mistake(f"datasets.{dataset}.items is 0; raise it, or drop the data set here", key)


# --- judges -----------------------------------------------------------------------------------------


class _Judge(Strict):
    """What every engine's judge has."""

    model: Text
    structured: bool = True
    concurrency: Count = 4
    retries: Annotated[int, Field(ge=0)] = 4
    token_budget: Count | None = None


class LlamaCppJudge(_Judge):
    """A GGUF file, read by llama.cpp in this process."""

    engine: Literal["llamacpp"]
    context: Count = 4096
    threads: Count = 2
    prefix_cache: Literal["exact", "fast", "off"] = "exact"


class EndpointJudge(_Judge):
    """A running OpenAI-compatible server. The key stays in the environment: params name its variable."""

    engine: Literal["endpoint"]
    base_url: str
    api_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 120
    extra_headers: dict[str, str] = {}
    context: Count | None = None
    allow_other_model: bool = False

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        # Said without the value: whatever is wrong with it, it may hold a key.
        try:
            parts = urlsplit(url)
            named = bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:  # brackets that are no IPv6 address, a port that is no number up to 65535
            named = False
        if not named or parts.scheme not in ("http", "https"):
            raise mistake("should be an address like http://127.0.0.1:8000/v1")
        if "@" in parts.netloc:
            raise mistake("holds a user or key; name an environment variable in api_key_env instead")
        if "?" in url or "#" in url:
            raise mistake("holds a query; end it with the path, and name a key's variable in api_key_env")
        return url

    @field_validator("extra_headers")
    @classmethod
    def _no_secret_in_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name in headers:
            if name.lower() in ("authorization", "api-key", "x-api-key"):
                raise mistake(
                    "keys don't belong in params; name an environment variable in api_key_env", name
                )
        return headers


ENGINES = ("llamacpp", "endpoint")
ENGINES_TO_COME = ("vllm", "huggingface", "ray")


def _has_engine(block: Any) -> Any:
    if not isinstance(block, Mapping):
        return block
    engine = block.get("engine")
    if engine in ENGINES_TO_COME:
        raise mistake(f"{engine} is not available yet; use {' or '.join(ENGINES)}", "engine")
    if engine is None:
        raise mistake(f"missing; use one of: {', '.join(ENGINES)}", "engine")
    if engine not in ENGINES:
        raise mistake(f"unknown engine '{engine}'; {did_you_mean(engine, ENGINES)}", "engine")
    return block


def _is_slug(slug: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", slug):
        raise mistake(
            "a judge's slug names files and stages; use lower case, digits and _ only, a letter first"
        )
    return slug


Judge = LlamaCppJudge | EndpointJudge
"""One judge's block; ``engine`` tells which."""

Slug = Annotated[str, AfterValidator(_is_slug)]


# --- the common part --------------------------------------------------------------------------------


class Data(Strict):
    """Where documents from outside lie."""

    external_dir: FilePath


class Statistics(Strict):
    """How intervals and tests are made."""

    confidence: Annotated[float, Field(gt=0, lt=1)]
    resamples: Annotated[int, Field(ge=100)]
    permutations: Annotated[int, Field(ge=100)]
    few_clusters: Annotated[int, Field(ge=2)]


class Common(Strict):
    """The top level of params.yaml, less the studies' sections."""

    profile: Text
    seed: Annotated[int, Field(ge=0)]
    store: FilePath
    judges: Annotated[
        dict[Slug, Annotated[Judge, Field(discriminator="engine"), BeforeValidator(_has_engine)]],
        Field(min_length=1),
    ]
    data: Data
    statistics: Statistics


Section = TypeVar("Section", bound=BaseModel)


def load(section: str, model: type[Section], path: Path = PARAMS) -> tuple[Common, Section]:
    """The common part and one study's section.

    Parameters
    ----------
    section
        The section's key at the top level: the study's name.
    model
        The pydantic model of that section. Its validators find the slugs of all judges in
        ``info.context["judges"]`` (see ``JudgeSlug``).
    path
        The file; errors use its name.

    Returns
    -------
    Common, Section
        Both validated and immutable.

    Raises
    ------
    ParamsError
        One line: the file, the full key, what is wrong and the fix.
    """
    document = read(path)
    common = parse_common(document, path.name)
    return common, parse_section(document, section, model, common, path.name)


def read(path: Path) -> dict[str, Any]:
    """The file's top-level mapping, as YAML 1.2 (``yes`` and ``on`` are strings)."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ParamsError(f"{path}: not found; run from the repository's root") from None
    except UnicodeDecodeError as error:
        raise ParamsError(f"{path.name}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    try:
        document = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise ParamsError(f"{path.name}: {yaml_mistake(error)}") from None
    except RecursionError:
        raise ParamsError(f"{path.name}: nested too deep to be read; remove brackets") from None
    except ValueError as error:  # a number of thousands of digits, a date that is none
        problem = _one_line(error).partition(":")[0]
        raise ParamsError(f"{path.name}: holds a value that can't be read ({problem}); mend it") from None
    if not isinstance(document, dict):
        raise ParamsError(f"{path.name}: holds no keys; restore it from version control")
    return document


def yaml_mistake(error: YAMLError) -> str:
    """One line for a YAML syntax error: the line's number and the problem."""
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        # A doubled key is told with both its values, either of which may hold a key to a server.
        problem = _one_line(error.problem).partition(" with value ")[0]
        return f"line {error.problem_mark.line + 1}: {problem}; mend the YAML there"
    return f"not YAML ({_one_line(error)}); mend it"


def parse_common(document: Mapping[str, Any], name: str = PARAMS.name) -> Common:
    """Validate the common part of a document; the studies' sections are left alone."""
    own = {key: value for key, value in document.items() if key in Common.model_fields}
    try:
        return Common.model_validate(own)
    except ValidationError as error:
        raise ParamsError(_line(error, (name,))) from None


def parse_section(
    document: Mapping[str, Any],
    section: str,
    model: type[Section],
    common: Common,
    name: str = PARAMS.name,
) -> Section:
    """Validate one study's section of a document."""
    if section not in document:
        raise ParamsError(f"{name}: {section}: missing; the study's section must stand at the top level")
    try:
        return model.model_validate(document[section], context={"judges": list(common.judges)})
    except ValidationError as error:
        raise ParamsError(_line(error, (name, section))) from None


# --- errors in our own words ------------------------------------------------------------------------

UNTOLD = ("base_url", "api_key_env", "extra_headers")
"""Keys whose values an error never shows: a secret may stand there by mistake."""


def _line(error: ValidationError, root: tuple[str, ...]) -> str:
    """The first mistake in one line: ``<file>: <full key>: <what is wrong; the fix>``."""
    name, *section = root
    first, *others = error.errors(include_url=False)
    key = ".".join([*section, *_key(first)])
    more = f" (and {len(others)} more)" if others else ""
    return _one_line(f"{name}: {key}: {_words(first)}{more}")


def _key(details: ErrorDetails) -> list[str]:
    """The key's parts below the section, as a reader finds them in the file."""
    parts = [str(part) for part in details["loc"]]
    if len(parts) > 2 and parts[0] == "judges" and parts[2] in ENGINES:
        del parts[2]  # pydantic names the member of a union, which is no key
    if parts and parts[-1] == "[key]":
        del parts[-1]  # pydantic's mark of a mapping's key
    own = details.get("ctx", {}).get("key")
    return [*parts, own] if own else parts


def _words(details: ErrorDetails) -> str:
    """What is wrong and the fix, in one line."""
    kind, value = details["type"], details["input"]
    if kind == "mistake":
        return str(details["ctx"]["text"])
    if details["loc"][-1:] == ("[key]",) and kind == "literal_error":
        return f"unknown key; {did_you_mean(value, _expected(details))}"
    if kind == "missing":
        return "missing; add it"
    if kind == "literal_error":
        return f"unknown value {_short(value)}; {did_you_mean(value, _expected(details))}"
    expected = details["msg"].removeprefix("Input ").removeprefix("Value error, ")
    found = "" if set(UNTOLD) & set(details["loc"]) else f", not {_short(value)}"
    return f"{expected[0].lower()}{expected[1:]}{found}"


def _expected(details: ErrorDetails) -> list[str]:
    """The values that a Literal allows, out of pydantic's ``'a', 'b' or 'c'``, or ``2, 3 or 5``."""
    told = details["ctx"]["expected"]
    return re.findall(r"'([^']*)'", told) or re.findall(r"\d+", told)


def _one_line(error: object) -> str:
    return " ".join(str(error).split())


def _short(value: Any) -> str:
    """A value in one line, cut where it is long."""
    text = "null" if value is None else " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
