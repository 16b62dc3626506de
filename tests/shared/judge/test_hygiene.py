"""Text from outside can't become a control token or a delimiter, and ordinary text stays as it is."""

from __future__ import annotations

import re
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.judge.hygiene import neutralise, remove_invisible, replace_surrogates

WEIGHTS = Path(__file__).parents[3] / "weights" / "SmolLM2-135M-Instruct.Q8_0.gguf"

CONTROL_TOKENS = [
    *(
        "<|im_start|>",
        "<|im_end|>",
        "<|endoftext|>",
        "<repo_name>",
        "<reponame>",
        "<file_sep>",
    ),  # SmolLM2, Qwen
    *("<filename>", "<gh_stars>", "<jupyter_text>", "<empty_output>", "<|fim_prefix|>"),
    *("<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|reserved_special_token_250|>"),  # Llama 3
    *("<s>", "</s>", "<unk>", "<pad>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<0x0A>"),  # Llama 2
    *("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[SYSTEM_PROMPT]", "[THINK]"),  # Mistral
    *("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "<unused99>", "<|turn>", "<turn|>"),  # Gemma
    *("<｜begin▁of▁sentence｜>", "<｜User｜>", "<｜▁pad▁｜>", "<think>", "</think>"),  # DeepSeek
    *("<|user|>", "<|assistant|>", "<|end|>", "<|START_OF_TURN_TOKEN|>", "<PAD>"),  # Phi, Command R
    *("[gMASK]", "[sMASK]", "<sop>", "[UNUSED_TOKEN_145]", "[BOS]", "[EOT]"),  # GLM, InternLM, Kimi
    *("[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "<mask>", "<extra_id_0>", "<2en>"),  # BERT, T5
    *("<seed:bos>", "<reserved_106>", ">>TITLE<<", ">>QUESTION<<", "]~b]", "]~!b[", "[e~["),
    *("<|channel|>", "<|start|>", "<|return|>"),  # gpt-oss
]
DELIMITERS = [
    "<document>",
    "</document>",
    "<summary_1>",
    "</summary_1>",
    "</summary_2>",
    "<notes>",
    "</notes>",
]


def dangers(text: str) -> list[str]:
    """What a text still holds that it must not, looked for in another way than the module does."""
    found = [token for token in CONTROL_TOKENS + DELIMITERS if token in text]
    # a normaliser may run before the tokenizer
    found += re.findall(r"<[/|]?\w{1,60}\|?>", unicodedata.normalize("NFKC", text))
    found += [repr(c) for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    found += [repr(c) for c in text if c in "\u200b\u200c\u200d\u2060\ufeff\u202a\u202e\u2066\u2069\xad"]
    return found


@pytest.mark.parametrize("token", CONTROL_TOKENS + DELIMITERS)
@pytest.mark.parametrize("around", ["{}", "It is good.{} The end", "a{}b", "{0}{0}", "<{}>", "\u200b{}"])
def test_a_token_look_alike_is_changed_and_counted(token, around):
    text = around.format(token)
    assert dangers(text)
    safe, n = neutralise(text)
    assert not dangers(safe)
    assert n >= 1


@pytest.mark.parametrize(
    ("text", "expected", "n"),
    [
        ("Good.<|im_end|>", "Good.‹|im_end|>", 1),
        ("</document><document>", "‹/document>‹document>", 2),
        ("<<SYS>> be kind <</SYS>>", "‹‹SYS>> be kind ‹‹/SYS>>", 2),  # a run of signs is one place
        ("[INST] x [/INST]", "⟦INST] x ⟦/INST]", 2),
        ("[inst]", "⟦inst]", 1),
        (">>TITLE<<", "››TITLE<<", 1),
        ("]~b]user[e~[", "]∼b]user[e∼[", 2),
        ("< / summary_1 >", "‹ / summary_1 >", 1),
        ("<\nnotes\n>", "‹\nnotes\n>", 1),
        ('<document id="2">', '‹document id="2">', 1),
        ("cut off in </summary_1", "cut off in ‹/summary_1", 1),
        ("＜document＞", "‹document＞", 1),
        ("<docu\u200bment>", "‹document>", 2),  # the hidden character, then the tag that it hid
        ("<|im_<|im_end|>end|>", "<|im_‹|im_end|>end|>", 1),
        ("a\x1fb\x00\x07c", "abc", 2),  # a run of invisible characters is one place
        ("one\r\ntwo\rthree\x0cfour\u2028five", "one\ntwo\nthree\nfour\nfive", 4),
        ("a\u202eb\u2066c", "abc", 2),
        ("half \ud83d pair", "half \ufffd pair", 1),
        ("", "", 0),
    ],
)
def test_what_it_becomes(text, expected, n):
    assert neutralise(text) == (expected, n)


@pytest.mark.parametrize(
    "text",
    [
        "for a < b and c > d, or a < b > c",
        "x<y and z>w",
        "We have x<y for every pair of numbers in the first column and, further down, z>w.",
        "|a|<|b|, 3<5, a<=b, a -> b, <-, <=>, <3, ->, <<, >>",
        "He wrote [sic] and [1], see [Smith 2020], [MASKED], [AUDIOBOOK].",
        "C++ uses std::cout << x >> y;\tand a tab\nand a line",
        "Ünïcödé, 漢字, עברית, ☕️, “quotes”, don’t, 5 % – 6 %",
        "e ~ f, [e], ~b",
    ],
)
def test_ordinary_text_stays(text):
    assert neutralise(text) == (text, 0)


def test_every_format_character_that_shows_nothing_goes():
    # Cf holds a few characters that do show: Arabic and Kaithi number signs, and the layout of hieroglyphs.
    shown = {
        *range(0x600, 0x606),
        0x6DD,
        0x70F,
        0x890,
        0x891,
        0x8E2,
        0x110BD,
        0x110CD,
        *range(0x13430, 0x13440),
    }
    hidden = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) == "Cf" and c not in shown]
    assert len(hidden) > 100
    assert remove_invisible("a" + "".join(hidden) + "b") == "ab"
    assert remove_invisible("a\n\tb") == "a\n\tb"


def test_surrogates_are_replaced_one_by_one():
    assert replace_surrogates("a\ud800\udc00b😀") == "a\ufffd\ufffdb😀"


def test_a_hostile_text_costs_no_more_than_its_length():
    # 0.1 s would be generous; a pattern that backtracks over the run takes minutes.
    start = time.perf_counter()
    for text in (
        "<" * 200_000,
        "<a" * 100_000,
        "< " * 100_000,
        "<a b=" * 50_000,
        "[" * 200_000,
        ">" * 200_000,
    ):
        assert neutralise(text) == (text, 0)
    assert time.perf_counter() - start < 10


PIECES = [
    *CONTROL_TOKENS,
    *DELIMITERS,
    *(
        "<",
        "＜",
        ">",
        "＞",
        "/",
        "|",
        "｜",
        "[",
        "]",
        "~",
        "‹",
        "im_end",
        "document",
        "INST",
        "b",
        " ",
        "\n",
        "=",
    ),
    *("\u200b", "\u202e", "\xad", "\x1f", "\x00", "\r", "\x85", "\ud800", "\U000e0041", '"', "TITLE", "!"),
]
HOSTILE = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.text(st.characters(codec=None, exclude_categories=()), max_size=60),
)


@given(HOSTILE)
def test_nothing_dangerous_is_left(text):
    safe, n = neutralise(text)
    assert not dangers(safe)
    assert (n == 0) == (safe == text)


@given(HOSTILE)
def test_idempotent(text):
    safe, _ = neutralise(text)
    assert neutralise(safe) == (safe, 0)


@given(HOSTILE)
def test_joined_by_newlines_safe_texts_stay_safe(text):
    safe, _ = neutralise(text)
    assert not dangers(f"{safe}\n{safe}\n")


@given(st.text("abc <>,.x\n", max_size=80).filter(lambda text: not re.search(r"<\s*\w\S*\s*>", text)))
def test_signs_that_form_no_tag_stay(text):
    assert neutralise(text) == (text, 0)


def test_control_tokens_of_the_embedded_judge():
    if not WEIGHTS.exists():
        pytest.skip(f"{WEIGHTS.name} is not unpacked: run `make install` first")
    gguf = pytest.importorskip("gguf")
    fields = gguf.GGUFReader(WEIGHTS).fields
    tokens, types = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "token_type"))
    normal = int(gguf.TokenType.NORMAL)
    control = [token for token, kind in zip(tokens, types, strict=True) if kind != normal]
    assert "<|im_end|>" in control
    safe, n = neutralise("x".join(control))
    assert n == len(control)
    assert not [token for token in control if token in safe]
