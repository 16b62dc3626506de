"""A stage ends with one line and exit code 1, whatever the user or the system did."""

import errno

import pytest

from shared.errors import UserError, run_stage


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UserError("a.yaml: wrong; mend it"), "error: a.yaml: wrong; mend it"),
        (OSError(errno.ENOSPC, "No space left", "out.csv"), "error: out.csv: No space left"),
        (PermissionError(errno.EACCES, "Permission denied", "a", None, "b"), "error: a: Permission denied"),
        (OSError("Error writing bytes\nto file"), "error: Error writing bytes to file"),  # pyarrow's form
        (TimeoutError(), "error: TimeoutError"),
    ],
)
def test_what_a_user_can_mend_is_one_line(error, line):
    def main():
        raise error

    with pytest.raises(SystemExit) as caught:
        run_stage(main)
    assert caught.value.code == line  # Python prints a string to stderr and exits with 1


def test_an_interrupted_stage_says_that_it_can_go_on():
    def main():
        raise KeyboardInterrupt

    with pytest.raises(SystemExit, match=r"interrupted.*run again"):
        run_stage(main)


def test_a_bug_keeps_its_traceback():
    def main():
        raise KeyError("x")

    with pytest.raises(KeyError):
        run_stage(main)
