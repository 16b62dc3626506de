from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.judge.records import Message, Request, key_bytes, request_key
from shared.judge.store import Store
from tests.shared.judge.scripted import completion

# surrogates too: a judge may answer with half of a UTF-16 pair, which comes back in a later turn
TEXTS = st.text(st.characters(exclude_categories=()), max_size=8)


def test_the_bytes_of_a_key_by_hand():
    request = Request((Message("system", "ab"), Message("user", "é", (1,))), 5, schema={"b": 1, "a": 2})
    # the texts' lengths are in bytes: é takes two
    head = '["f",[["system",[],2],["user",[1],2]],[5,0.0,1.0,0],{"b":1,"a":2},0,0]'
    assert key_bytes("f", request) == head.encode() + b"ab" + "é".encode()


def test_an_effort_changes_a_key_only_where_it_is_set():
    plain = Request((Message("user", "ab"),), 5)
    head = '["f",[["user",[],2]],[5,0.0,1.0,0],null,0,0'
    # byte for byte what it was before requests had an effort, so that every stored answer is still found
    assert key_bytes("f", plain) == f"{head}]ab".encode()
    assert key_bytes("f", replace(plain, effort="low")) == f'{head},"low"]ab'.encode()
    efforts = (None, "low", "medium", "high")
    assert len({request_key("f", replace(plain, effort=effort)) for effort in efforts}) == 4


@given(st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=3))
def test_requests_have_one_key_only_where_they_are_equal(one, other):
    a, b = (Request(tuple(Message("user", text) for text in texts), 5) for texts in (one, other))
    assert (request_key("f", a) == request_key("f", b)) == (a == b)


def test_text_does_not_move_between_messages_or_into_the_head():
    def key(*texts):
        return request_key("f", Request(tuple(Message("user", text) for text in texts), 5))

    assert len({key("ab", "c"), key("a", "bc"), key("abc"), key("abc", ""), key("", "abc")}) == 5


@pytest.mark.parametrize(
    "answer",
    [
        completion("half a pair: \ud83d"),
        replace(completion("a"), logprobs=[{"token": "a", "logprob": -float("inf"), "top": {}}]),
        replace(completion("a"), prompt_tokens=2**63 - 1),
    ],
)
def test_what_a_fast_json_reader_refuses_survives_the_store(tmp_path, answer):
    store = Store(tmp_path / "s.sqlite")
    store.put("k", "f", answer)
    assert store.get("k") == answer
    assert store.damaged == 0
    store.close()
