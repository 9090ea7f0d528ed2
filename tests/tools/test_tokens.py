"""The local count: whichever counter is at hand, on the corpus in `tests/data/counting`."""

import json
import time
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from longthread.tools.tokens import IMAGE_TOKENS, count_message, count_schemas, count_text, local_counter_name

CORPUS = Path(__file__).parents[1] / "data" / "counting"
O200K: dict[str, int] = json.loads((CORPUS / "o200k.json").read_text())
CJK = ("chinese", "japanese", "korean")


def sample(name: str) -> str:
    return (CORPUS / f"{name}.txt").read_text(encoding="utf-8")


@pytest.fixture(params=["o200k_base", "approximate"])
def counter(request: pytest.FixtureRequest) -> str:
    """Each counter in turn; without the vocabulary's folder the approximation counts."""
    if request.param == "o200k_base":
        request.getfixturevalue("vocabulary")
    return str(request.param)


def test_the_vocabulary_alone_decides_which_counter_counts(counter: str) -> None:
    assert local_counter_name() == counter


@pytest.mark.parametrize("name", sorted(O200K))
def test_the_approximation_is_within_a_quarter_of_the_tokenizer(name: str) -> None:
    assert count_text(sample(name)) == pytest.approx(O200K[name], rel=0.25)


@pytest.mark.parametrize("pair", list(combinations(sorted(O200K), 2))[::11], ids="+".join)
def test_mixed_texts_are_within_a_quarter_too(pair: tuple[str, str]) -> None:
    first, second = pair
    assert count_text(sample(first) + sample(second)) == pytest.approx(O200K[first] + O200K[second], rel=0.25)


@pytest.mark.parametrize("language", CJK)
def test_three_thousand_characters_of_a_dense_script_are_within_a_quarter(
    language: str, o200k: tiktoken.Encoding, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "".join(sample(name) for name in sorted(O200K) if name.startswith(language))
    text = (text * 3)[:3000]
    truth = len(o200k.encode_ordinary(text))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert local_counter_name() == "approximate"
    assert count_text(text) == pytest.approx(truth, rel=0.25)


def test_with_the_vocabulary_the_count_is_the_tokenizers(vocabulary: Path) -> None:
    assert {name: count_text(sample(name)) for name in O200K} == O200K


@pytest.mark.parametrize("content", [None, b"", b"damaged"])
def test_a_missing_or_damaged_vocabulary_is_no_error_and_no_request(
    content: bytes | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert count_text("Hello, world") > 0
    assert file.exists() == (content is not None)


def test_a_cache_that_is_switched_off_means_the_approximation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert local_counter_name() == "approximate"


def test_the_older_name_of_the_cache_folder_is_honoured(
    vocabulary_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(vocabulary_folder))
    assert local_counter_name() == "o200k_base"


@pytest.mark.parametrize("unit", ["a", "A", " ", "=", "_", "中", "\n", " \n", "ab1", "😀"])
def test_a_megabyte_of_one_thing_is_counted_at_once(unit: str, counter: str) -> None:
    text = unit * (1_000_000 // len(unit))
    started = time.perf_counter()
    assert count_text(text) > 1_000
    assert time.perf_counter() - started < 2


def test_a_text_of_many_megabytes_is_counted_by_samples(counter: str) -> None:
    text = sample("prose_essay") * 10_000
    started = time.perf_counter()
    assert count_text(text) == pytest.approx(O200K["prose_essay"] * 10_000, rel=0.15)
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize("text", ["<|endoftext|>", "<|fim_prefix|><|endofprompt|>", "\ud800", "\x00", ""])
def test_no_text_raises(text: str, counter: str) -> None:
    assert count_text(text) < 30


def test_an_image_counts_by_a_constant_whatever_its_size(counter: str) -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0KGgo" * 9_000}},
        {"type": "image", "base64": "iVBORw0KGgo" * 9_000, "mime_type": "image/png"},
        {"type": "input_image", "image_url": "https://example.org/a.png"},
        {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo" * 9_000}},
    ]
    without = count_message(HumanMessage([{"type": "text", "text": "What is this?"}]))
    for block in blocks:
        tokens = count_message(HumanMessage([{"type": "text", "text": "What is this?"}, block]))
        assert tokens - without == IMAGE_TOKENS


def test_an_unknown_block_counts_without_its_bytes(counter: str) -> None:
    block = {"type": "hologram", "title": "A cube", "data": "QUJD" * 10_000, "url": "data:model/x;base64," + "QUJD" * 9}
    assert 5 < count_message(HumanMessage([block])) < 60


def test_reasoning_counts_by_its_text_and_not_by_its_signature(counter: str) -> None:
    short = AIMessage([{"type": "thinking", "thinking": "I look first.", "signature": "Zm9v" * 5_000}])
    long = AIMessage([{"type": "thinking", "thinking": "I look first. " * 100, "signature": ""}])
    assert count_message(short) < 40 < 300 < count_message(long)


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("", tool_calls=[{"name": "write_file", "args": {"text": "one two " * 200}, "id": "c1"}]),
        AIMessage("", invalid_tool_calls=[{"name": "f", "args": "one two " * 200, "id": "c1", "error": "?"}]),
        ToolMessage("one two " * 200, tool_call_id="c1"),
        HumanMessage(["one two " * 200]),
    ],
)
def test_calls_results_and_blocks_count_by_what_is_sent(message: BaseMessage, counter: str) -> None:
    assert 400 <= count_message(message) <= 460


def test_a_call_that_stands_in_the_content_too_counts_once(counter: str) -> None:
    call = {"name": "read_file", "args": {"path": "src/main.py"}, "id": "c1"}
    block = {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "src/main.py"}}
    assert count_message(AIMessage([block], tool_calls=[call])) == count_message(AIMessage("", tool_calls=[call]))


def test_arguments_that_json_cannot_hold_are_counted_all_the_same(counter: str) -> None:
    deep: list[object] = []
    for _ in range(5_000):
        deep = [deep]
    for args in ({"value": {1, 2}}, {"value": deep}):
        call = {"name": "f", "args": args, "id": "c1"}
        assert count_message(AIMessage("", tool_calls=[call])) > 5


def test_a_message_whose_content_is_replaced_is_weighed_again(counter: str) -> None:
    message = HumanMessage("short")
    before = count_message(message)
    message.content = "long " * 100
    assert count_message(message) > before + 90


def test_a_message_is_never_taken_for_one_that_is_gone(counter: str) -> None:
    counts = [count_message(HumanMessage("word " * length)) for length in range(50, 5_000, 50)]
    assert all(one < two for one, two in pairwise(counts))


def test_a_message_is_weighed_once(vocabulary: Path) -> None:
    message = ToolMessage(sample("code_python") * 400, tool_call_id="c1")
    started = time.perf_counter()
    count_message(message)
    first = time.perf_counter() - started
    started = time.perf_counter()
    count_message(ToolMessage(message.content, tool_call_id="c2"))
    count_message(message)
    assert time.perf_counter() - started < first / 5


def test_schemas_cost_about_their_json(counter: str) -> None:
    schema = {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Read a text file of the workspace.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    }
    assert 40 < count_schemas([schema]) < 80
    assert count_schemas([schema, schema]) == 2 * count_schemas([schema])
    assert count_schemas([]) == 0
