"""What becomes of a model's answer on its way into the history."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.tools import tool

from agents import ask_sync, history, thread
from longthread.graph import ScriptedChatModel, create_agent, open_saver
from longthread.graph.scripted import Step, call, say
from validity import assert_valid


@tool
def echo(text: str) -> str:
    """Give the text back."""
    return text


def told(folder: Path, *answers: AIMessage) -> list[AnyMessage]:
    """The history as a new process finds it in the file."""
    model = ScriptedChatModel([*answers, "Done."])
    with open_saver(folder / "t.db") as saver:
        ask_sync(create_agent(model, [echo], checkpointer=saver), "go")
    for request in model.requests:
        assert_valid(request)
    with open_saver(folder / "t.db") as saver:
        return history(create_agent(model, [echo], checkpointer=saver))


def test_an_answer_says_for_which_request_it_was_given(tmp_path: Path) -> None:
    found = told(tmp_path, say("", call("echo", text="a")))
    first = found[0].id
    stamps = [m.additional_kwargs["request"] for m in found if isinstance(m, AIMessage)]
    stamp = {"first": first, "pruned": None, "model": "scripted"}
    assert stamps == [{"n": 1, **stamp}, {"n": 3, **stamp}]


def test_it_carries_the_agents_name_in_the_history_and_none_on_the_wire(tmp_path: Path) -> None:
    model = ScriptedChatModel([call("echo", text="a"), "Done."])
    found = ask_sync(create_agent(model, [echo], name="my agent"), "go")["messages"]
    assert [m.name for m in found if isinstance(m, AIMessage)] == ["my agent"] * 2
    assert [m.name for m in model.requests[-1] if isinstance(m, AIMessage)] == [None]


def test_another_agents_name_stays_on_its_messages() -> None:
    model = ScriptedChatModel(["Done."])
    ask_sync(create_agent(model), {"messages": [("user", "go"), AIMessage("I am Ann.", name="ann"), ("user", "and?")]})
    assert model.requests[0][1].name == "ann"


def test_usage_and_metadata_are_kept(tmp_path: Path) -> None:
    answer = found_answer(tmp_path, say("Done.", finish_reason="length"))
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["input_tokens"] > 0
    assert answer.response_metadata == {"model_name": "scripted", "finish_reason": "length"}


def found_answer(folder: Path, answer: AIMessage) -> AIMessage:
    found = told(folder, answer)[1]
    assert isinstance(found, AIMessage)
    return found


class Odd:
    def __repr__(self) -> str:
        return "<odd \ud800>"


def test_what_no_checkpoint_holds_is_cleaned(tmp_path: Path) -> None:
    broken = invalid_tool_call(name="ec\x00ho", args='{"\ud800', id="\ud800", error=None)
    answer = AIMessage(
        "a\x00\ud800b",
        id="\ud800",
        tool_calls=[call("no\ud800tool", "c\x00", text="\x00", big=2**70)],
        invalid_tool_calls=[broken],
        additional_kwargs={"reasoning_content": "\x00", "odd": Odd()},
        response_metadata={"odd": Odd()},
    )
    found = found_answer(tmp_path, answer)
    assert (found.content, found.id) == ("a\ufffd\ufffdb", "\ufffd")
    assert found.tool_calls == [
        call("no\ufffdtool", "c\ufffd", text="\ufffd", big=str(2**70)),
        call("ec\ufffdho", "\ufffd", malformed_arguments='{"\ufffd'),
    ]
    assert found.additional_kwargs["reasoning_content"] == "\ufffd"
    assert found.response_metadata["odd"] == found.additional_kwargs["odd"] == "<odd \ufffd>"


def test_the_raw_calls_of_the_provider_are_not_stored_twice(tmp_path: Path) -> None:
    answer = AIMessage("", tool_calls=[call("echo", "c1", text="a")], additional_kwargs={"tool_calls": [{"id": "c1"}]})
    assert set(found_answer(tmp_path, answer).additional_kwargs) == {"request"}


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_answer_ends_the_run(tmp_path: Path, text: str) -> None:
    model = ScriptedChatModel([text, "Now?"])
    with open_saver(tmp_path / "t.db") as saver:
        graph = create_agent(model, checkpointer=saver)
        assert ask_sync(graph, "go")["messages"][-1].content == text
        assert ask_sync(graph, "well?")["messages"][-1].content == "Now?"
    assert_valid(model.requests[-1])


def test_blocks_of_calls_follow_their_calls_to_new_ids(tmp_path: Path) -> None:
    def answer(text: str) -> AIMessage:
        used = {"type": "tool_use", "id": "call_0", "name": "echo", "input": {"text": text}}
        thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
        return AIMessage([thought, used], tool_calls=[call("echo", "call_0", text=text)])

    found = [m for m in told(tmp_path, answer("a"), answer("b")) if isinstance(m, AIMessage) and m.tool_calls]
    blocks: list[Any] = [message.content[1] for message in found]
    assert [block["id"] for block in blocks] == [message.tool_calls[0]["id"] for message in found]
    assert len({block["id"] for block in blocks}) == 2


def test_ids_that_were_made_up_are_the_same_when_the_request_is_made_again(tmp_path: Path) -> None:
    answer = AIMessage("", id="msg", tool_calls=[call("echo", "c", text="a"), call("echo", "c", text="b")])
    steps: list[Step] = [answer, answer, "Done."]
    with open_saver(tmp_path / "t.db") as saver:
        graph = create_agent(ScriptedChatModel([*steps, *steps[1:]]), [echo], checkpointer=saver)
        ask_sync(graph, "go")
        first = [message.id for message in history(graph)]
        fork = [s for s in graph.get_state_history(thread()) if s.next == ("call_model",)][1]
        ask_sync(graph, None, fork.config)
        assert [message.id for message in history(graph)][:-1] == first[:-1]


def test_a_count_that_no_checkpoint_can_hold_is_no_count(tmp_path: Path) -> None:
    huge = {"input_tokens": 10**20, "output_tokens": 1, "total_tokens": 1}
    found = told(tmp_path, AIMessage("hi", usage_metadata=huge))
    assert (found[-1].content, found[-1].usage_metadata) == ("hi", None)  # type: ignore[union-attr]  # an answer
