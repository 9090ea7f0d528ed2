"""The four tools of the compaction worker, over one desk of plain values.

The desk is the worker's state: what it marked, what it refers to, what it wrote. A call returns
the text that the worker reads and the desk after it; nothing is changed in place.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage
from pydantic import BaseModel, Field, ValidationError
from typing_extensions import TypedDict

from longthread.tools.cut import cut_middle
from longthread.tools.errors import WorkspaceError
from longthread.tools.left_out import without_nulls
from longthread.tools.text import clean, one_line, reminder
from longthread.tools.tokens import count_text
from longthread.tools.workspace import Workspace

WRITE_SOON = reminder("Half of the auto-read budget is used. Consider calling write_summary soon.")


class Mark(TypedDict):
    """A stretch of a file that shall be in the new context."""

    path: str
    offset: int
    """First line, from 1."""
    limit: int | None
    """Number of lines; `None` for the rest of the file."""
    tokens: int


class Reference(TypedDict):
    """A file that is worth knowing about."""

    path: str
    note: str


class Desk(TypedDict):
    """What the worker decided so far."""

    marks: list[Mark]
    references: list[Reference]
    read: list[str]
    summary: str
    """The last valid summary; empty while there is none."""
    draft: str
    """The last one that could be made valid by mending."""
    asked: list[str]
    """What was asked of the summary once already: `sections`, `length`."""
    reminded: bool


EMPTY_DESK: Desk = {
    "marks": [],
    "references": [],
    "read": [],
    "summary": "",
    "draft": "",
    "asked": [],
    "reminded": False,
}


class ReadFile(BaseModel):
    """Read a file to judge whether its text is needed. Long files are cut; give a range to see more."""

    path: str
    offset: int = Field(1, ge=1, description="first line, from 1")
    limit: int | None = Field(None, ge=1, description="number of lines")


class MarkReadRequired(BaseModel):
    """Put a file, or a range of its lines, into the new context.

    Again for a path: replaces its mark; limit=0 removes it.
    """

    path: str
    offset: int = Field(1, ge=1, description="first line, from 1")
    limit: int | None = Field(None, ge=0, description="number of lines")


class AddReference(BaseModel):
    """Name a file that is worth knowing about; its text is not put into the context."""

    path: str
    note: str = Field("", description="a few words on why")


class WriteSummary(BaseModel):
    """Write the summary, with all five sections. May be called again; the last valid one counts."""

    text: str


SCHEMAS: dict[str, type[BaseModel]] = {
    "read_file": ReadFile,
    "mark_read_required": MarkReadRequired,
    "add_reference": AddReference,
    "write_summary": WriteSummary,
}


def bind_schemas(with_files: bool) -> list[dict[str, Any]]:
    """The tools as a model binds them; without a workspace there is only `write_summary`."""
    names = list(SCHEMAS) if with_files else ["write_summary"]
    return [_schema(name) for name in names]


def _schema(name: str) -> dict[str, Any]:
    parameters = SCHEMAS[name].model_json_schema()
    description = inspect.cleandoc(parameters.pop("description"))
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _described(error: ValidationError) -> str:
    wrong = (f"{'.'.join(map(str, found['loc']))}: {found['msg']}" for found in error.errors(include_url=False))
    return one_line("; ".join(wrong), 300)


@dataclass(frozen=True)
class WorkerTools:
    """The tools for one attempt."""

    workspace: Workspace | None
    budget: int
    """Tokens of the main model that all marks share."""
    scale: float
    """The provider's tokens per local token."""
    review: Callable[[str, Desk], tuple[str, Desk]]
    """Judges a summary: what the worker reads of it, and the desk after it."""

    def run(self, call: Mapping[str, Any], desk: Desk) -> tuple[ToolMessage, Desk]:
        """The result of one call and the desk after it; every mistake is an error result."""
        half_used = self.used(desk) * 2 >= self.budget and bool(desk["marks"]) and not desk["reminded"]
        text, after, status = self._attempt(call, desk)
        if half_used:
            text, after = f"{text}\n{WRITE_SOON}", {**after, "reminded": True}
        message = ToolMessage(clean(text), name=call["name"], tool_call_id=call["id"], status=status)
        return message, after

    def _attempt(self, call: Mapping[str, Any], desk: Desk) -> tuple[str, Desk, Any]:
        schema = SCHEMAS.get(call["name"]) if self.workspace or call["name"] == "write_summary" else None
        if schema is None:
            names = ", ".join(SCHEMAS if self.workspace else ["write_summary"])
            return f"Error: there is no tool {one_line(call['name'], 60)!r}; the tools are {names}.", desk, "error"
        try:
            text, after = self._dispatch(without_nulls(schema).model_validate(call["args"]), desk)
        except ValidationError as error:
            return f"Error: {_described(error)}; nothing was done. Send the call again.", desk, "error"
        except (WorkspaceError, ValueError, OSError) as error:
            return f"Error: {error}", desk, "error"
        return text, after, "error" if text.startswith("Error") else "success"

    def _dispatch(self, args: BaseModel, desk: Desk) -> tuple[str, Desk]:
        if isinstance(args, ReadFile):
            return self._read(args, desk)
        if isinstance(args, MarkReadRequired):
            return self._mark(args, desk)
        if isinstance(args, AddReference):
            return self._refer(args, desk)
        assert isinstance(args, WriteSummary)
        return self.review(clean(args.text), desk)

    def _files(self) -> Workspace:
        assert self.workspace is not None
        return self.workspace

    def _read(self, args: ReadFile, desk: Desk) -> tuple[str, Desk]:
        found = self._files().read_lines(args.path, args.offset, args.limit)
        numbered = "\n".join(f"{n}\t{line}" for n, line in enumerate(found.lines, found.first))
        tokens = max(200, round(self.budget / 5 / self.scale) - 30)
        text = f"{found.path} lines {found.first}-{found.last} of {found.total}\n{numbered}"
        text = cut_middle(text, tokens, "read a range with offset and limit to see them")
        return text, {**desk, "read": [*(p for p in desk["read"] if p != found.path), found.path]}

    def used(self, desk: Desk) -> int:
        """Tokens that the marks take."""
        return sum(mark["tokens"] for mark in desk["marks"])

    def _mark(self, args: MarkReadRequired, desk: Desk) -> tuple[str, Desk]:
        path = self._files().relative(args.path)
        others = [mark for mark in desk["marks"] if mark["path"] != path]
        if args.limit == 0:
            return self._marked("Unmarked.", {**desk, "marks": others})
        found = self._files().read_lines(path, args.offset, args.limit)
        tokens = round(count_text("\n".join(found.lines)) * self.scale)
        left = self.budget - sum(mark["tokens"] for mark in others)
        if tokens > left:
            raise ValueError(
                f"auto-read budget exhausted ({self.budget} tokens): {path!r} lines {found.first}-{found.last} need "
                f"{tokens}, {left} remain. Mark fewer lines with offset and limit, remove a mark with limit=0, or "
                "use add_reference instead."
            )
        mark = Mark(path=path, offset=found.first, limit=args.limit, tokens=tokens)
        return self._marked("Marked.", {**desk, "marks": [*others, mark]})

    def _marked(self, done: str, desk: Desk) -> tuple[str, Desk]:
        return f"{done} Budget: {self.budget - self.used(desk)}/{self.budget} tokens remaining", desk

    def _refer(self, args: AddReference, desk: Desk) -> tuple[str, Desk]:
        path = self._files().relative(args.path)
        if self._files().kind(path) is None:
            raise WorkspaceError(f"{path!r} does not exist; name a file that is there")
        reference = Reference(path=path, note=one_line(args.note, 120))
        others = [known for known in desk["references"] if known["path"] != path]
        return f"Reference to {path} added.", {**desk, "references": [*others, reference]}
