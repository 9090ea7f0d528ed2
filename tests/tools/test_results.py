"""What a message says, whatever its shape."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from histories import IMAGE, THOUGHT, call, result
from longthread.tools.results import calls_of, summary_of, text_of


def test_a_summary_that_the_tool_wrote_is_taken_as_it_is() -> None:
    message = ToolMessage("x" * 900, tool_call_id="c1", additional_kwargs={"summary": "read a.py:1-42"})
    assert summary_of(message) == "read a.py:1-42"


@pytest.mark.parametrize("given", [None, "", "  ", 3, ["a"]])
def test_a_summary_that_is_no_text_is_made_anew(given: object) -> None:
    message = ToolMessage("\n\nfirst\nsecond", tool_call_id="c1", name="grep", additional_kwargs={"summary": given})
    assert summary_of(message) == "grep result, 14 characters, 4 lines: first"


def test_a_made_summary_is_one_short_line() -> None:
    made = summary_of(result(call("c1"), "a\tb\x1b" * 1_000, error=True))
    assert made.startswith("read_file error, 4000 characters")
    assert len(made) <= 200
    assert made.isprintable()


def test_a_result_without_output_says_so() -> None:
    assert summary_of(ToolMessage("", tool_call_id="c1")) == "tool result, 0 characters, 0 lines: no output"


def test_text_leaves_out_reasoning_and_calls_and_names_images() -> None:
    used = {"type": "tool_use", "id": "c1", "name": "grep", "input": {}}
    message = AIMessage([THOUGHT, {"type": "text", "text": "Look:"}, IMAGE, used, "end", {"type": "audio"}])
    assert text_of(message) == "Look:\n[image]\nend\n[audio]"


def test_a_call_whose_arguments_are_no_json_is_listed_last() -> None:
    broken = {"name": "grep", "args": "{", "id": "c1", "error": "bad", "type": "invalid_tool_call"}
    message = AIMessage.model_validate({"content": "", "invalid_tool_calls": [broken], "tool_calls": [call("c2")]})
    assert calls_of(message) == [call("c2"), call("c1", "grep", invalid_arguments="{")]


def test_only_assistant_messages_have_calls() -> None:
    assert calls_of(HumanMessage("hi")) == []
