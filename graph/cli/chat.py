"""`chat`: turn after turn on one thread."""

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import suppress

from longthread.graph.cli.conversation import Conversation
from longthread.graph.cli.faults import DONE, INTERRUPTED, OUTPUT_CLOSED, TERMINATED, Ended
from longthread.graph.cli.parse import CHAT_EXAMPLES
from longthread.graph.cli.views import decoded
from longthread.graph.cli.work import conversation
from longthread.tools.text import clean

PROMPT = "> "
WELCOME = "say what to do; /help lists the commands, /exit leaves"
INTERRUPTED_TURN = "interrupted; /resume goes on with the turn, a new message goes over it"
UNFINISHED = "a turn was interrupted here; /resume goes on with it, a new message goes over it"
OPEN = "the unfinished turn stays open; /resume goes on with it"


def chat(given: Namespace) -> int:
    """Talk until the user leaves."""
    with suppress(ImportError):
        import readline  # noqa: F401  # gives input() its history and editing
    decoded(sys.stdin)
    with conversation(given, given.thread, "chat") as (talk, details):
        _note(talk, WELCOME)
        if details and details.info.status != "done":
            _note(talk, UNFINISHED)
        return _Chat(talk).run()


class _Chat:
    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self._commands: Mapping[str, Callable[[str], None]] = {
            "/todos": self._todos,
            "/compact": self._compact,
            "/resume": self._resume,
            "/help": lambda _: _note(self._talk, CHAT_EXAMPLES.rstrip()),
        }

    def run(self) -> int:
        """Until the input ends."""
        while (line := self._heard()) is not None:
            if not line:
                continue
            if line in ("/exit", "/quit"):
                break
            self._do(line)
        return DONE

    def _heard(self) -> str | None:
        """A line from the user; `None` at the end of the input."""
        try:
            prompt = PROMPT if self._talk.view.interactive and sys.stdin.isatty() else ""
            return clean(input(prompt)).strip()
        except EOFError:
            return None

    def _do(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        try:
            if line.startswith("/") and word not in self._commands:
                return _note(self._talk, f"{word} is no command; /help lists them")
            return self._commands[word](rest.strip()) if word in self._commands else self._talk.say(line)
        except Ended as ended:
            if ended.code in (OUTPUT_CLOSED, TERMINATED):
                raise
            return _note(self._talk, INTERRUPTED_TURN if ended.code == INTERRUPTED else f"{ended} (here: /resume)")

    def _todos(self, _: str) -> None:
        details = self._talk.details()
        todos = details.info.todos if details else []
        self._talk.view.show({"event": "todo_list", "todos": todos})

    def _compact(self, instructions: str) -> None:
        if self._talk.details() is None:
            return _note(self._talk, "nothing was said yet, so there is nothing to compact")
        self._talk.compact(instructions)
        details = self._talk.details()
        return _note(self._talk, OPEN) if details and details.info.status != "done" else None

    def _resume(self, _: str) -> None:
        details = self._talk.details()
        if details is None or details.info.status == "done":
            return _note(self._talk, "nothing to resume: the last turn has its answer")
        return self._talk.resume(details)


def _note(talk: Conversation, text: str) -> None:
    talk.view.show({"event": "note", "text": text})
