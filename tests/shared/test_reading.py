"""Rows from outside: what is read, and every way in which a file, a line or a value is refused."""

import gzip
import json
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import UserError
from shared.reading import (
    Row,
    SourceError,
    hub_rows,
    json_entries,
    json_lines,
    json_list,
    made,
    name_of,
    visible,
)

FIX = "put it there"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "rows.jsonl"


def problem(call, *given):
    with pytest.raises(SourceError) as caught:
        call(*given)
    message = str(caught.value)
    assert "\n" not in message
    return message


# --- files ------------------------------------------------------------------------------------------


def test_lines_are_read_with_their_numbers_and_blank_ones_passed_over(file):
    # U+2028 ends a line for str.splitlines, not here; the file starts with a byte order mark.
    file.write_bytes('\ufeff{"a": "one\u2028text"}\r\n\n  \n{"a": 2}'.encode())
    assert json_lines(file, FIX) == [
        (f"{file}:1", Row({"a": "one\u2028text"})),
        (f"{file}:4", Row({"a": 2})),
    ]


def test_entries_are_read_with_their_keys(file):
    file.write_text('{"7": {"a": 1}, "8": {"a": 2}}')
    assert json_entries(file, FIX) == [
        (f"{file}, entry '7'", ("7", Row({"a": 1}))),
        (f"{file}, entry '8'", ("8", Row({"a": 2}))),
    ]


def test_a_packed_file_is_read_like_any_other(tmp_path):
    file = tmp_path / "rows.jsonl.gz"
    file.write_bytes(gzip.compress(b'{"a": 1}\n\n{"a": 2}\n'))
    assert json_lines(file, FIX) == [(f"{file}:1", Row({"a": 1})), (f"{file}:3", Row({"a": 2}))]
    file.write_bytes(gzip.compress(b""))
    assert problem(json_lines, file, FIX) == f"{file}: empty; put it there"


@pytest.mark.parametrize(
    "content", [b"", b'{"a": 1}', gzip.compress(b"{}")[:-9], gzip.compress(b"{}" * 99)[:12] + b"?" * 20]
)
def test_a_packed_file_that_is_broken_is_told(tmp_path, content):
    file = tmp_path / "rows.jsonl.gz"
    file.write_bytes(content)
    told = problem(json_lines, file, FIX)
    assert told.startswith(f"{file}: ") and told.endswith(("; fetch it again", "empty; put it there"))


@pytest.mark.parametrize("read", [json_lines, json_entries])
def test_a_file_that_is_absent_or_empty_is_named_with_the_fix(file, read):
    assert problem(read, file, FIX) == f"{file}: absent; put it there"
    assert problem(read, file / "deeper", FIX) == f"{file / 'deeper'}: absent; put it there"
    file.write_text(" \n\n")
    assert problem(read, file, FIX) == f"{file}: empty; put it there"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{broken", "not JSON (Expecting property name enclosed in double quotes, column 2); mend it there"),
        (b"[1, 2]", "it should be a JSON object, not [1, 2]; write it so"),
        (b"[" * 100_000, "not JSON (nested too deep); remove brackets"),
        # Ten ASCII bytes stand before the e with an accent.
        (b'{"id": "caf\xe9"}', "not UTF-8 (byte 0xe9 at 11); convert it to UTF-8"),
        (b'{"a": 1, "b": 2, "a": 3}', "the key 'a' stands twice in one object; remove one"),
        (b'{"b": {"a": 1, "a": 1}}', "the key 'a' stands twice in one object; remove one"),
    ],
)
def test_a_bad_line_is_named_by_its_number(file, line, told):
    file.write_bytes(b'{"a": 1}\n\n' + line + b"\n")
    assert problem(json_lines, file, FIX) == f"{file}:3: {told}"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"7": {"a": 1},\n"8": }', ": not JSON (Expecting value, line 2, column 6); mend it there"),
        (
            b'{"7": {"a": 1}, "8": [1]}',
            ", entry '8': the entry should be a JSON object, not [1]; write it so",
        ),
        (b'{"7": {"a": 1}, "7": {"a": 2}}', ": the key '7' stands twice in one object; remove one"),
        (b'"7"', ": it should be a JSON object, not '7'; write it so"),
    ],
)
def test_a_bad_entry_is_named_by_its_key(file, content, told):
    file.write_bytes(content)
    assert problem(json_entries, file, FIX) == f"{file}{told}"


def test_the_same_mistake_is_told_once_and_ten_different_ones_are_shown():
    rows = [(f"f:{n}", Row({"b": 1})) for n in range(1, 4)]
    told = problem(made, rows, lambda row: row.score("a"))
    assert told == "f:1 and 2 more: no column 'a'; add it (there are: b)"
    rows = [(f"f:{n}", Row({"a": -n})) for n in range(12)]
    told = problem(made, rows, lambda row: row.score("a"))
    assert told.startswith("f:0: a is 0, outside 1 to 5; rescale or correct it; f:1: a is -1, ")
    assert told.endswith("f:9: a is -9, outside 1 to 5; rescale or correct it; and 2 more")


def test_what_can_be_made_keeps_its_place():
    assert made([("f:1", 2), ("f:9", 3)], lambda n: n * n) == [("f:1", 4), ("f:9", 9)]
    assert issubclass(SourceError, UserError)


# --- values -----------------------------------------------------------------------------------------


def refused(call, told):
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("", "a is empty; write it, or remove the row"),
        (" \n\t", "a is empty; write it, or remove the row"),
        ("\u200b\ufeff", "a is empty; write it, or remove the row"),
        (None, "a should be a text, not null; put it in quotes"),
        (5, "a should be a text, not 5; put it in quotes"),
        (["x"], "a should be a text, not ['x']; put it in quotes"),
        ("half a \ud83d", "a is not UTF-8 (it holds half of a surrogate pair); remove that"),
    ],
)
def test_a_bad_text_is_told(value, told):
    refused(lambda: Row({"a": value}).text("a"), told)


def test_texts_are_stripped_and_their_lines_ended_alike():
    assert Row({"a": "  One.\r\nTwo.\rThree. \n"}).text("a") == "One.\nTwo.\nThree."
    for value in (None, "", " ", "\u200b"):
        assert Row({"a": value}).text_or_nothing("a") == ""
    assert Row({}).text_or_nothing("a") == ""
    refused(lambda: Row({"a": 0}).text_or_nothing("a"), "a should be a text, not 0; put it in quotes")


@pytest.mark.parametrize(
    "value", ["a/b", "a|b", "a\nb", "a  b", "a\u200bb", "<s>", " \u200bx", True, 1.5, None, ""]
)
def test_an_id_that_would_break_an_items_id_is_refused(value):
    with pytest.raises(ValueError, match=r"^a .*; (rename it|put it in quotes|write it, or remove the row)$"):
        Row({"a": value}).name("a")


def test_ids_are_words_or_whole_numbers():
    assert Row({"a": 83}).name("a") == "83"
    assert Row({"a": " GPT-2 (tag) "}).name("a") == "GPT-2 (tag)"
    assert name_of("dm-test-87", "key") == "dm-test-87"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("4", "a should be a number, not '4'; write it without quotes"),
        (True, "a should be a number, not True; write it without quotes"),
        (None, "a should be a number, not null; write it without quotes"),
        ([4], "a should be a number, not [4]; write it without quotes"),
        (0, "a is 0, outside 1 to 5; rescale or correct it"),
        (5.5, "a is 5.5, outside 1 to 5; rescale or correct it"),
        (float("nan"), "a is nan, outside 1 to 5; rescale or correct it"),
        (float("-inf"), "a is -inf, outside 1 to 5; rescale or correct it"),
        (10**400, "a is " + "1" + "0" * 56 + "..., outside 1 to 5; rescale or correct it"),
    ],
)
def test_a_bad_score_is_told(value, told):
    refused(lambda: Row({"a": value}).score("a"), told)
    if not isinstance(value, list):
        refused(lambda: Row({"a": [3, value]}).mean_score("a"), told)


def test_scores_and_their_mean():
    assert Row({"a": 1}).score("a") == 1 and Row({"a": 4.25}).score("a") == 4.25
    # (3 + 4 + 4) / 3 = 11 / 3
    assert Row({"a": [3, 4, 4]}).mean_score("a") == pytest.approx(11 / 3)
    for value in ([], None, 4, {"x": 1}):
        with pytest.raises(ValueError, match=r"^a should be a list of one or more, not .*; write it so$"):
            Row({"a": value}).mean_score("a")


def test_parts_of_a_row():
    row = Row({"one": {"a": 1}, "more": [{"a": 2}, {"a": 3}], "texts": [" x ", "y"], "bad": [1, ""]})
    assert row.part("one") == Row({"a": 1})
    assert row.parts("more") == [Row({"a": 2}), Row({"a": 3})]
    assert row.texts("texts") == ("x", "y")
    refused(lambda: row.part("more"), "more should be a JSON object, not [{'a': 2}, {'a': 3}]; write it so")
    refused(lambda: row.parts("bad"), "a part of bad should be a JSON object, not 1; write it so")
    refused(lambda: row.texts("bad"), "a text of bad should be a text, not 1; put it in quotes")
    refused(lambda: row.value("none"), "no column 'none'; add it (there are: one, more, texts, bad)")
    refused(lambda: Row({}).value("none"), "no column 'none'; add it (there are: none)")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_any_value_is_read_or_refused_by_a_value_error(value):
    row = Row(json.loads(json.dumps({"a": value})))
    for read in (row.text, row.text_or_nothing, row.name, row.score, row.mean_score, row.texts, row.part):
        try:
            read("a")
        except ValueError as error:
            assert str(error).startswith(("a ", "a text of a "))


@given(st.text(max_size=30))
def test_a_text_that_is_read_looks_as_it_did(text):
    try:
        read = Row({"a": text}).text("a")
    except ValueError:
        assert not visible(text) or any("\ud800" <= c <= "\udfff" for c in text)
    else:
        assert visible(read) == visible(text) and read == read.strip()


@given(st.binary(max_size=40))
def test_any_file_is_read_or_refused_in_one_line(tmp_path_factory, content):
    file = tmp_path_factory.mktemp("any") / "f.jsonl"
    file.write_bytes(content)
    for read in (json_lines, json_entries):
        try:
            read(file, FIX)
        except SourceError as error:
            assert str(error).startswith(str(file)) and "\n" not in str(error)


def test_a_folder_in_a_files_place_is_one_line(tmp_path):
    (tmp_path / "rows.jsonl").mkdir()
    with pytest.raises(SourceError, match="a folder, where a file should be; put it there"):
        json_lines(tmp_path / "rows.jsonl", "put it there")


def test_a_list_of_objects_is_read_with_the_number_of_each_row(tmp_path):
    file = tmp_path / "rows.json"
    file.write_text('[{"a": 1}, {"a": 2}]')
    assert [(where, row.values["a"]) for where, row in json_list(file, "")] == [
        (f"{file}, row 1", 1),
        (f"{file}, row 2", 2),
    ]
    file.write_text('{"a": 1}')
    with pytest.raises(SourceError, match="should be a JSON list of objects"):
        json_list(file, "")
    file.write_text('[{"a": 1}, 3]')
    with pytest.raises(SourceError, match="row 2: it should be a JSON object, not 3"):
        json_list(file, "")


def test_a_score_has_its_own_range_where_it_is_told_one():
    assert Row({"a": -3}).score("a", -3, 3) == -3
    with pytest.raises(ValueError, match="a is 4, outside -3 to 3"):
        Row({"a": 4}).score("a", -3, 3)


# --- the hub ----------------------------------------------------------------------------------------


def hub(monkeypatch, answer):
    asked = []

    def load_dataset(*names, **options):
        asked.append((names, options))
        return answer()

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    return asked


def test_rows_of_the_hub_are_read_with_their_numbers_at_a_revision(monkeypatch):
    asked = hub(monkeypatch, lambda: [{"a": 1}, {"a": 2}])
    assert hub_rows("some/rows", "abc", "test") == [
        ("some/rows[0]", Row({"a": 1})),
        ("some/rows[1]", Row({"a": 2})),
    ]
    assert asked == [(("some/rows",), {"revision": "abc", "split": "test"})]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionError("no route to host\nand a long trace"), "no route to host"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_a_hub_that_gives_nothing_is_one_line(monkeypatch, error, reason):
    def fail():
        raise error

    hub(monkeypatch, fail)
    told = f"some/rows at abc, split test, cannot be loaded: {reason}"
    assert problem(hub_rows, "some/rows", "abc", "test") == told


def test_a_number_of_thousands_of_digits_is_one_line(file):
    file.write_text('{"a": ' + "9" * 5000 + "}")
    assert problem(json_lines, file, FIX).endswith(":1: a number has 5000 digits; mend it")
