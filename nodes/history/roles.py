"""The third projection of a request: roles as the provider takes them.

OpenAI-compatible servers take system messages anywhere. Anthropic, Google and strict chat
templates take one, at the head: there the leading ones are merged, and later ones travel as user
messages in `<system-reminder>` tags. Text inside such a block stays readable as it is; only a
closing tag in it is escaped, so that file text cannot end the block.
"""

import re
from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from longthread.tools.text import reminder

_CLOSING = re.compile(r"<\s*/\s*system-reminder\s*>", re.IGNORECASE)
_BLOCK = re.compile(r"\s*<system-reminder>(?P<body>.*)</system-reminder>\s*", re.DOTALL)
CONTINUES = reminder("The conversation goes on from here; what came before is not shown.")


def adapt_roles(messages: Sequence[AnyMessage], system_role: Literal["system", "user"]) -> list[AnyMessage]:
    """The messages, for `"system"` as they are, for `"user"` with one system message at most, the first.

    Where an assistant message would follow the head (a tail that was cut inside a turn), the last
    of several leading system messages becomes the user message that such providers want first;
    where there is only one, a fixed line does. Several user messages in a row are fine: the
    providers' packages merge them.
    """
    if system_role == "system":
        return list(messages)
    head = _leading_system(messages)
    later = messages[head:]
    if not later or not isinstance(later[0], HumanMessage):
        return [*_opened(messages[:head], bool(later)), *map(_as_user, later)]
    return [*_merged(messages[:head]), *map(_as_user, later)]


def _leading_system(messages: Sequence[AnyMessage]) -> int:
    return next((n for n, m in enumerate(messages) if not isinstance(m, SystemMessage)), len(messages))


def _opened(leading: Sequence[AnyMessage], followed: bool) -> list[AnyMessage]:
    """The head of a request that no user message opens."""
    if len(leading) > 1:
        return [*_merged(leading[:-1]), _as_user(leading[-1])]
    return [*leading, *([HumanMessage(CONTINUES)] if followed else [])]


def _merged(leading: Sequence[AnyMessage]) -> list[AnyMessage]:
    if len(leading) < 2:
        return list(leading)
    contents = [message.content for message in leading]
    texts = [content for content in contents if isinstance(content, str)]
    merged = "\n\n".join(texts) if len(texts) == len(contents) else [b for c in contents for b in _blocks(c)]
    return [leading[0].model_copy(update={"content": merged})]


def _blocks(content: str | list[Any]) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _as_user(message: AnyMessage) -> AnyMessage:
    if not isinstance(message, SystemMessage):
        return message
    return HumanMessage(_tagged_content(message.content), id=message.id, additional_kwargs=message.additional_kwargs)


def _tagged_content(content: str | list[Any]) -> str | list[Any]:
    if isinstance(content, str):
        return tagged(content)
    texts = [block if isinstance(block, str) else block["text"] for block in content if _is_text(block)]
    block = {"type": "text", "text": tagged("\n".join(texts))}
    return [block, *(other for other in content if not _is_text(other))]


def _is_text(block: Any) -> bool:
    return isinstance(block, str) or isinstance(block.get("text"), str)


def tagged(text: str) -> str:
    """The text as one `<system-reminder>` block; as it is when it is one."""
    block = _BLOCK.fullmatch(text)
    if block and not _CLOSING.search(block["body"]):
        return text
    return reminder(_CLOSING.sub("&lt;/system-reminder&gt;", text))
