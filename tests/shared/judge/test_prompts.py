import jinja2
import pytest

from shared.judge.prompts import render


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "turn.jinja").write_text(
        "shared part\n{{ cut }}\n{% if cue %}\n{{ cue }}\n{% endif %}\nanswer\n{{ cut }}\n"
    )
    return tmp_path


def test_cuts_leave_no_trace_and_mark_the_shared_part(folder):
    plain, cued = render(folder, "turn", cue=""), render(folder, "turn", cue="a cue")
    assert plain.content == "shared part\n\nanswer\n"
    assert cued.content == "shared part\n\na cue\nanswer\n"
    # "shared part\n" has 12 characters; the second cut is the end of the text
    assert plain.cuts == (12, len(plain.content))
    assert cued.cuts == (12, len(cued.content))
    assert plain.content[: plain.cuts[0]] == cued.content[: cued.cuts[0]]


def test_a_value_that_is_not_given_is_an_error(folder):
    with pytest.raises(jinja2.UndefinedError, match="cue"):
        render(folder, "turn")


def test_texts_are_not_read_as_templates(folder):
    assert "{{ 1 + 1 }} <b>" in render(folder, "turn", cue="{{ 1 + 1 }} <b>").content
