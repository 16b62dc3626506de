"""What a user can mend: one error class, and one way for a stage to end with it."""

from __future__ import annotations

import sys
from collections.abc import Callable


class UserError(Exception):
    """Bad input, or a missing thing. The message is one line that names the thing and the fix."""


def run_stage(main: Callable[[], None]) -> None:
    """Run a stage's ``main``; a `UserError` ends it with its message alone and exit code 1.

    So does an error of the system, such as a full disk: its line names the file, where it has one.
    """
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
    except OSError as error:
        sys.exit(f"error: {_in_a_line(error)}")
    except KeyboardInterrupt:
        sys.exit("interrupted; what was answered is kept, run again to go on")


def _in_a_line(error: OSError) -> str:
    """File and reason, in one line; the kind of error where it has no words."""
    words = " ".join(str(error.strerror or error).split()) or type(error).__name__
    return f"{error.filename}: {words}" if error.filename else words
