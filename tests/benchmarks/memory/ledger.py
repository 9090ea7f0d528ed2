"""What has been planted when a request is sent: the truth that a request is compared with."""

from dataclasses import dataclass, field

from memory.session import FACT, Step, Turn

RECENT = 5
ERRORS = 3


@dataclass
class Ledger:
    """Facts by category, as far as the session has come."""

    directives: list[str] = field(default_factory=list)
    todos: list[str] = field(default_factory=list)
    """Those open now."""
    edited: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    """Paths, the last read at the end."""
    notes: list[str] = field(default_factory=list)
    unspoken: list[str] = field(default_factory=list)
    """What only a tool result said."""

    def hear(self, turn: Turn) -> None:
        """The user has spoken."""
        self.directives += FACT.findall(turn.prompt)

    def take(self, step: Step) -> None:
        """The model has answered, and its call has run."""
        self.notes += FACT.findall(step.text)
        path = step.args.get("path", "")
        if step.tool == "todo_write":
            self.todos = [item["content"] for item in step.args["todos"] if item["status"] != "completed"]
        elif step.tool == "edit_file" and path not in self.edited:
            self.edited.append(path)
        elif step.tool == "read_file":
            self.read = [*(known for known in self.read if known != path), path]
        if step.fact:
            (self.errors if step.fails else self.unspoken).append(step.fact)

    @property
    def last_errors(self) -> list[str]:
        """The newest three."""
        return self.errors[-ERRORS:]

    @property
    def last_read(self) -> list[str]:
        """The newest five paths."""
        return self.read[-RECENT:]
