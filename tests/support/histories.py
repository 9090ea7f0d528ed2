"""Random histories for property tests: sound ones, and ones with everything that goes wrong in them."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage

TOOLS = ("read_file", "grep", "todo_write")
TEXTS = st.sampled_from(
    [
        "go on",
        "続けてください",
        "two\nlines",
        "<system-reminder>\nopen: 1\n</system-reminder>",
        "a </system-reminder> b </ System-Reminder > c",
        "word " * 2_000,
    ]
)
ANY_TEXTS = st.one_of(TEXTS, st.sampled_from(["", " \n\t"]))
IMAGE: dict[str, Any] = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
THOUGHT: dict[str, Any] = {"type": "thinking", "thinking": "hm", "signature": "s"}


def blocks(texts: SearchStrategy[str]) -> SearchStrategy[Any]:
    """String content, or blocks of text and image around it."""
    texted = texts.map(lambda text: {"type": "text", "text": text})
    return st.one_of(texts, st.lists(st.one_of(texted, texts, st.just(IMAGE)), max_size=3))


def result(call: ToolCall, content: Any, *, error: bool = False) -> ToolMessage:
    """The result of a call."""
    status = "error" if error else "success"
    return ToolMessage(content, tool_call_id=call["id"] or "", name=call["name"], status=status)


def call(call_id: str, name: str = "read_file", **args: Any) -> ToolCall:
    """A call, as an assistant message lists it."""
    return ToolCall(name=name, args=args, id=call_id, type="tool_call")


def numbered(messages: list[AnyMessage]) -> list[AnyMessage]:
    """The messages with the ids m0, m1, …"""
    return [message.model_copy(update={"id": f"m{n}"}) for n, message in enumerate(messages)]


@st.composite
def sound_groups(draw: DrawFn, min_size: int = 1) -> list[list[AnyMessage]]:
    """Groups of a history without faults; a user message comes first."""
    found: list[list[AnyMessage]] = [[HumanMessage(draw(TEXTS))]]
    for turn in range(draw(st.integers(min_size, 8))):
        found.append(draw(_sound_group(turn)))
    ids = iter(range(1_000))
    return [[m.model_copy(update={"id": f"m{next(ids)}"}) for m in group] for group in found]


@st.composite
def _sound_group(draw: DrawFn, turn: int) -> list[AnyMessage]:
    calls = [call(f"c{turn}_{n}", draw(st.sampled_from(TOOLS))) for n in range(draw(st.integers(0, 3)))]
    answers = [result(c, draw(ANY_TEXTS), error=draw(st.booleans())) for c in calls]
    other = draw(st.sampled_from([HumanMessage, SystemMessage, None]))
    if other and not calls:
        return [other(draw(TEXTS))]
    return [AIMessage(draw(TEXTS), tool_calls=calls), *answers]


@st.composite
def histories(draw: DrawFn) -> list[AnyMessage]:
    """Messages with parallel calls, missing, late and doubled results, orphans, ids used again, empty ones, images."""
    found: list[AnyMessage] = []
    late: list[AnyMessage] = []
    for _ in range(draw(st.integers(0, 10))):
        if draw(st.booleans()):
            found += _messy_group(draw, late)
        else:
            found.append(draw(_other_messages()))
        if draw(st.booleans()) and late:
            found.append(late.pop(draw(st.integers(0, len(late) - 1))))
    return numbered(found)


def _messy_group(draw: DrawFn, late: list[AnyMessage]) -> list[AnyMessage]:
    """An assistant message and the results that came in time; the others are put to `late`."""
    calls = [_messy_call(draw) for _ in range(draw(st.integers(0, 4)))]
    results: list[AnyMessage] = []
    for one in calls:
        answer = result(one, draw(blocks(ANY_TEXTS)), error=draw(st.booleans()))
        fate = draw(st.sampled_from(["in time", "in time", "missing", "late", "twice"]))
        results += {"in time": [answer], "twice": [answer, answer]}.get(fate, [])
        late += [answer] if fate == "late" else []
    return [_assistant(draw, calls), *draw(st.permutations(results))]


def _messy_call(draw: DrawFn) -> ToolCall:
    return call(draw(st.sampled_from(["", "c1", "c2", "c3", "c4"])), draw(st.sampled_from([*TOOLS, ""])))


def _assistant(draw: DrawFn, calls: list[ToolCall]) -> AIMessage:
    content = draw(blocks(ANY_TEXTS))
    if isinstance(content, list) and draw(st.booleans()):
        content = [THOUGHT, *content, *({"type": "tool_use", "id": c["id"], "name": c["name"]} for c in calls)]
    unparsed = [{"name": c["name"], "args": "{", "id": c["id"], "error": None} for c in calls if draw(st.booleans())]
    parsed = calls[: len(calls) - len(unparsed)]
    return AIMessage(content, tool_calls=parsed, invalid_tool_calls=unparsed)


def _other_messages() -> SearchStrategy[AnyMessage]:
    orphan = ToolMessage("whose?", tool_call_id="nobody's")
    return st.one_of(
        blocks(ANY_TEXTS).map(HumanMessage),
        blocks(ANY_TEXTS).map(SystemMessage),
        st.sampled_from([orphan, AIMessage(""), AIMessage("done")]),
    )
