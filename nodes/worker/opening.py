"""What the worker is opened with: the history as quoted data, within a size."""

from functools import cache
from importlib.resources import files

from longthread.nodes.history.overview import render_overview
from longthread.nodes.worker.state import Brief
from longthread.tools.cut import cut_middle
from longthread.tools.text import escape, one_line
from longthread.tools.tokens import count_text

FILES_TASK = (
    "These files were touched most recently and stand as references. Read them all, and mark those whose text is "
    "needed for going on with mark_read_required. Add further references with add_reference."
)
CLOSING = "Then call write_summary, with at most {} tokens."


@cache
def worker_prompt() -> str:
    """The worker's system prompt."""
    return files(__package__).joinpath("prompt.md").read_text(encoding="utf-8")


def render_opening(brief: Brief, tokens: int) -> str:
    """The opening message; previous summary and overview share `tokens` local tokens, the summary at most half."""
    previous = cut_middle(brief["previous"], tokens // 2, "shortened") if brief["previous"] else ""
    overview = render_overview(brief["entries"], max(0, tokens - count_text(previous)))
    parts = [
        "The conversation below is about to be removed from the agent's context. Write its summary.",
        _tagged("users_request_for_this_summary", escape(brief["instructions"])),
        _tagged("previous_summary", escape(previous)),
        _tagged("todo_list", brief["todos"]),
        _tagged("conversation", overview),
        _files(brief),
        CLOSING.format(brief["summary_tokens"]),
    ]
    return "\n\n".join(part for part in parts if part)


def _tagged(tag: str, body: str) -> str:
    return f"<{tag}>\n{body}\n</{tag}>" if body else ""


def _files(brief: Brief) -> str:
    if not brief["files"]:
        return ""
    listed = "\n".join(f"- {escape(one_line(path))}" for path in brief["files"])
    return f"{FILES_TASK}\n{listed}"
