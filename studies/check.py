"""Checks params.yaml, the common part and every study's section, before anything runs.

Run as ``python -m studies.check [FILE]``. A folder under studies/ whose ``params`` module has a model
called ``Section`` is a study, and its section has the folder's name; nothing else has to be told about it.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import studies
from shared import params, profiles
from shared.errors import run_stage
from shared.params import Common, ParamsError


def sections() -> Iterator[tuple[str, type[BaseModel]]]:
    """Each study's section and its model, by name."""
    for found in pkgutil.iter_modules(studies.__path__):
        module = f"studies.{found.name}.params"
        if found.ispkg and find_spec(module):
            yield found.name, import_module(module).Section


def check(
    document: Mapping[str, Any], name: str = params.PARAMS.name, folder: Path = profiles.PROFILES
) -> None:
    """Raise ParamsError at the first part of the document that can't be used.

    ``folder`` holds the profiles, one of which the document names.
    """
    models = dict(sections())
    known = [*Common.model_fields, *models]
    for key in document:
        if key not in known:
            raise ParamsError(f"{name}: {key}: unknown section; {params.did_you_mean(key, known)}")
    common = params.parse_common(document, name)
    try:
        profiles.require(common.profile, folder)
    except profiles.ProfileError as error:
        raise ParamsError(f"{name}: profile: {error}") from None
    for section, model in models.items():
        params.parse_section(document, section, model, common, name)


def main() -> None:
    """Check the file named on the command line, params.yaml by default."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else params.PARAMS
    check(params.read(path), path.name)


if __name__ == "__main__":
    run_stage(main)
