"""Lays an overlay from profiles/ over params.yaml, which stays the truth of what runs.

Run as ``python -m shared.profiles NAME``; without a name it prints the active profile. Applying one
first resets every key that any profile touches to its value in profiles/default.yaml, so that what an
earlier profile set does not linger; then it sets the profile's own keys. Comments and layout are kept.
A block that was removed by hand (a set that is not wanted) stays removed, and is named.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.representer import RoundTripRepresenter

from shared.errors import UserError, run_stage
from shared.params import PARAMS, did_you_mean, read

PROFILES = Path("profiles")
DEFAULT = "default"

# A process of its own, because it knows the studies, and shared/ imports none of them.
CHECK = (sys.executable, "-m", "studies.check")

Key = tuple[str, ...]


class ProfileError(UserError):
    """A profile can't be applied; the message names the file, the key and the fix."""


class Change(NamedTuple):
    """One key's value before and after; None where a judge's whole block is absent."""

    key: Key
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{'.'.join(self.key)}: {_inline(self.before)} -> {_inline(self.after)}"


def require(name: str, folder: Path = PROFILES) -> None:
    """Raise ProfileError, which offers the nearest, where no file in the folder is the profile's."""
    names = sorted(file.stem for file in folder.glob("*.yaml"))
    if name not in names:
        raise ProfileError(f"no profile '{name}'; {did_you_mean(name, names)}")


def wanted(name: str, folder: Path = PROFILES) -> dict[Key, Any]:
    """All that applying a profile sets: the default's values, under the profile's own.

    Parameters
    ----------
    name
        A profile: the stem of a file in ``folder``.
    folder
        Where the overlays lie.

    Returns
    -------
    dict of Key to value
        The keys are those of ``default.yaml``, and ``profile``.

    Raises
    ------
    ProfileError
        If there is no such profile, or it touches a key that ``default.yaml`` lacks.
    """
    require(name, folder)
    knobs = read(folder / f"{DEFAULT}.yaml")
    overlay = read(folder / f"{name}.yaml")
    values = _leaves(knobs, knobs, DEFAULT) | _leaves(overlay, knobs, name)
    return {("profile",): name, **values}


def _leaves(
    overlay: Mapping[str, Any], knobs: Mapping[str, Any], name: str, parent: Key = ()
) -> dict[Key, Any]:
    """The overlay's values, by key. What counts as one value is told by ``knobs``, the default's tree."""
    found: dict[Key, Any] = {}
    for key, value in overlay.items():
        full = (*parent, key)
        if key not in knobs:
            raise ProfileError(
                f"{name}.yaml: {'.'.join(full)}: not in {DEFAULT}.yaml; {did_you_mean(key, knobs)} "
                f"(or add its default there)"
            )
        if not isinstance(knobs[key], Mapping):
            found[full] = value
        elif isinstance(value, Mapping):
            found |= _leaves(value, knobs[key], name, full)
        else:
            raise ProfileError(
                f"{name}.yaml: {'.'.join(full)}: {_inline(value)} stands where keys belong; indent them"
            )
    return found


def edit(text: str, values: Mapping[Key, Any]) -> tuple[str, list[Change]]:
    """Set ``values`` in the text of params.yaml.

    Parameters
    ----------
    text
        YAML; comments, order and layout are kept.
    values
        As from `wanted`. None for a judge's block means that the judge is absent. A value of a block
        that the text lacks altogether is left out (see `removed`).

    Returns
    -------
    str, list of Change
        The new text, equal to ``text`` where nothing had to change, and what changed.

    Raises
    ------
    ProfileError
        If the text lacks a key of a block that it has.
    """
    yaml = _yaml()
    document = yaml.load(text)
    gone = removed(document, values)
    there = {key: value for key, value in values.items() if not any(key[: len(b)] == b for b in gone)}
    done = [change for key, value in there.items() if (change := _set(document, key, value))]
    if not done:
        return text, []
    out = StringIO()
    yaml.dump(document, out)
    return out.getvalue(), done


def removed(document: Mapping[str, Any], keys: Iterable[Key]) -> list[Key]:
    """The outermost blocks that keys stand in and that the document lacks, each once."""
    found: dict[Key, None] = {}
    for key in keys:
        place: Any = document
        for depth, parent in enumerate(key[:-1], start=1):
            if not isinstance(place, Mapping):
                break  # a value where keys belong: `edit` tells
            if parent not in place:
                found[key[:depth]] = None
                break
            place = place[parent]
    return list(found)


def _set(document: CommentedMap, key: Key, value: Any) -> Change | None:
    """Set one key; None where it has that value already."""
    *parents, last = key
    place: Any = document
    for depth, parent in enumerate(parents):
        _require(place, parent, key[: depth + 1])
        place = place[parent]
    if parents == ["judges"]:
        return _set_judge(place, key, value)
    _require(place, last, key)
    before = place[last]
    if before == value:
        return None
    place[last] = _styled(value)
    if last in place.ca.items:
        # The comment follows its value: where it stood, a longer value would push it, for good.
        place.ca.items[last][2].start_mark.column = 0
    return Change(key, before, value)


def _set_judge(judges: CommentedMap, key: Key, block: Any) -> Change | None:
    """Set one judge's block, or remove it: a judge is the one thing that a profile may add."""
    slug = key[-1]
    before = judges.get(slug)
    if before == block:
        return None
    if block is None:
        del judges[slug]
    else:
        judges[slug] = _styled(block)
    return Change(key, before, block)


def _require(place: Any, name: str, key: Key) -> None:
    if not isinstance(place, Mapping) or name not in place:
        known = place if isinstance(place, Mapping) else ()
        raise ProfileError(
            f"{PARAMS}: {'.'.join(key)}: missing, but a profile sets it; {did_you_mean(name, known)}"
        )


def _styled(value: Any) -> Any:
    """A value as params.yaml writes it: lists in one line, mappings over several."""
    if isinstance(value, Mapping):
        return CommentedMap({key: _styled(inner) for key, inner in value.items()})
    if isinstance(value, list):
        flow = CommentedSeq(value)
        flow.fa.set_flow_style()
        return flow
    return value


class _Representer(RoundTripRepresenter):
    """Writes null as ``null``: the round trip's own choice is to write nothing."""


_Representer.add_representer(
    type(None), lambda representer, _: representer.represent_scalar("tag:yaml.org,2002:null", "null")
)


def _yaml() -> YAML:
    yaml = YAML()
    yaml.Representer = _Representer
    yaml.preserve_quotes = True
    yaml.width = 10_000  # never wraps a line
    return yaml


def _inline(value: Any) -> str:
    """A value in one line of YAML."""
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_inline(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return str(value)


def apply(name: str, path: Path = PARAMS, folder: Path = PROFILES) -> list[Change]:
    """Apply a profile to a file; return what changed.

    The edited text is checked as a whole before it replaces the file in one step: where the check
    fails, the file stays as it was.

    Raises
    ------
    ProfileError
        If there is no such profile or key, or the edited params don't pass ``studies.check``.
    """
    values = wanted(name, folder)
    read(path)  # a file that can't be read is told in the usual words
    text, done = edit(path.read_text(encoding="utf-8"), values)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".params-") as scratch:
        edited = Path(scratch, path.name)
        shutil.copy(path, edited)  # for its mode
        edited.write_text(text, encoding="utf-8")
        checked = subprocess.run([*CHECK, edited], capture_output=True, text=True, check=False)
        if checked.returncode:
            raise ProfileError(
                f"profile {name} is not applied: {checked.stderr.strip().removeprefix('error: ')}"
            )
        if done:
            os.replace(edited, path)
    return done


def active(path: Path = PARAMS, folder: Path = PROFILES) -> str:
    """The active profile's name, and which of its keys have been changed or removed by hand since."""
    document = read(path)
    name = str(document.get("profile"))
    values = wanted(name, folder)
    _, differing = edit(path.read_text(encoding="utf-8"), values)
    changed = [".".join(change.key) for change in differing]
    changed += [f"{'.'.join(block)} (removed by hand)" for block in removed(document, values)]
    return f"{name}, with changes in {', '.join(changed)}" if changed else name


def main() -> None:
    """Apply the profile named on the command line, or print the active one."""
    if len(sys.argv) < 2:
        print(active())
        return
    done = apply(sys.argv[1])
    for change in done:
        print(change)
    for block in removed(read(PARAMS), wanted(sys.argv[1])):
        print(f"{'.'.join(block)}: removed by hand, left so; to have it back: git checkout {PARAMS}")
    if not done:
        print(f"{PARAMS} is at profile {sys.argv[1]} already")


if __name__ == "__main__":
    run_stage(main)
