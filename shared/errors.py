"""What a user can mend: one error class, and one way for a stage to end with it."""

from __future__ import annotations

import sys
from collections.abc import Callable


class UserError(Exception):
    """Bad input, or a missing thing. The message is one line that names the thing and the fix."""


def run_stage(main: Callable[[], None]) -> None:
    """Run a stage's ``main``; a `UserError` ends it with its message alone and exit code 1."""
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted; what was answered is kept, run again to go on")
