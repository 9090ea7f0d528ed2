"""What the sights of a session come to: one figure for each row of the table."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from memory.player import Player, Sight
from memory.summarizers import Facts, every_fact, no_fact

ROWS: list[tuple[str, str, Facts]] = [
    ("user directives, no-fact summary", "directives", no_fact),
    ("open todos, no-fact summary", "todos", no_fact),
    ("paths of edited files, no-fact summary", "edited", no_fact),
    ("last three errors, no-fact summary", "errors", no_fact),
    ("text of the five files last read, perfect summary", "files", every_fact),
    ("everything else, perfect summary", "else", every_fact),
    ("what only the body of a tool result said, perfect summary", "unspoken", every_fact),
]
TOKENS = "tokens of that first request, perfect summary"
COMPACTIONS = "compactions, no-fact and perfect summary"


class Column(NamedTuple):
    """One contestant's figures by row."""

    shares: dict[str, float]
    tokens: int
    """Mean over the compactions of the session with the perfect summary."""
    most_tokens: int
    compactions: tuple[int, int]


def column(contestant: Callable[[Facts, Path], Player]) -> Column:
    """Both sessions of a contestant, and what they come to."""
    sights: dict[Facts, list[Sight]] = {facts: _sights(contestant, facts) for facts in (no_fact, every_fact)}
    shares = {title: _mean_share(sights[facts], name) for title, name, facts in ROWS}
    tokens = [sight.tokens for sight in sights[every_fact]]
    counts = (len(sights[no_fact]), len(sights[every_fact]))
    return Column(shares, sum(tokens) // len(tokens), max(tokens), counts)


def _sights(contestant: Callable[[Facts, Path], Player], facts: Facts) -> list[Sight]:
    with TemporaryDirectory() as folder:
        return contestant(facts, Path(folder)).sights


def _mean_share(sights: Sequence[Sight], name: str) -> float:
    known = [share for sight in sights if (share := sight.shares[name]) is not None]
    return sum(known) / len(known)


def render(columns: dict[str, Column]) -> str:
    """The table in Markdown."""
    rows = [[title, *(f"{column.shares[title]:.2f}" for column in columns.values())] for title, _, _ in ROWS]
    rows.append([TOKENS, *(f"{column.tokens}, at most {column.most_tokens}" for column in columns.values())])
    rows.append([COMPACTIONS, *("{} and {}".format(*column.compactions) for column in columns.values())])
    lines = [["", *columns], ["---"] * (len(columns) + 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
