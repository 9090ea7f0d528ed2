"""What the demo's scripted model says and calls, and what its worker writes."""

import shlex
import sys

from langchain_core.messages import AIMessage, ToolCall

from longthread.graph.scripted import call, say

FIRST_TASK = (
    "Three of our order tests fail. Find out why and mend the code. Half a cent is rounded up, as on our invoices. "
    "Never edit anything in data/."
)
SECOND_TASK = "Credit notes are below zero. Add a test that half a cent of those is rounded away from zero too."
TEST_COMMAND = f"{shlex.quote(sys.executable)} -B -m unittest"

PLAN = (
    ("tests", "Run the tests and read what fails"),
    ("cause", "Find the cause of each failure"),
    ("tiers", "Mend the quantity tiers"),
    ("cents", "Mend the rounding"),
    ("green", "Run all tests again"),
)


def plan(done: int) -> ToolCall:
    """The plan with its first `done` items completed and the next one begun."""
    status = ["completed"] * done + ["in_progress"] + ["pending"] * len(PLAN)
    todos = [{"id": key, "content": text, "status": status[n]} for n, (key, text) in enumerate(PLAN)]
    return call("todo_write", todos=todos)


def read(*paths: str) -> list[ToolCall]:
    """Calls that read files, side by side."""
    return [call("read_file", path=path) for path in paths]


def test() -> ToolCall:
    """The call that runs the project's tests."""
    return call("run_command", command=TEST_COMMAND)


def steps() -> list[AIMessage | str]:
    """Every answer of the agent's model, in order."""
    return [*_looking(), *_mending(), *_second_turn()]


def _looking() -> list[AIMessage | str]:
    return [
        say("I make a plan first, so that nothing is forgotten on the way.", plan(0)),
        say("Now the tests, to see what fails.", test()),
        say(
            "Two totals are too high and one cent is missing. I read the tests and what the project says of itself.",
            *read("tests/test_orders.py", "README.md"),
        ),
        say("The orders add everything up, so I begin there.", *read("stockroom/orders.py")),
        say(
            "Both prices come out of the discounts, and the discounts use amounts of money.",
            *read("stockroom/discounts.py", "stockroom/money.py"),
        ),
        say("Where else is something rounded, or a tier looked up?", call("grep", pattern=r"round\(|\.tiers")),
        say("Prices come from the catalog: I make sure that nothing is lost there.", *read("stockroom/catalog.py")),
    ]


def _mending() -> list[AIMessage | str]:
    return [
        say(
            "I know both causes now. The list of open items goes on from where it was.",
            plan(2),
        ),
        say(
            "The tiers are sorted upwards and the first match wins, so everybody gets the lowest one. "
            "The file is in front of me, so I edit it without reading it again.",
            call(
                "edit_file",
                path="stockroom/discounts.py",
                old="        for tier in self.tiers:\n",
                new="        for tier in reversed(self.tiers):\n",
            ),
            test(),
        ),
        say("Two tests are mended. The last one is the cent.", plan(3)),
        say(
            "Python rounds half a cent to the even neighbour; the invoices round it up.",
            call(
                "edit_file",
                path="stockroom/money.py",
                old="from decimal import Decimal\n",
                new="from decimal import ROUND_HALF_UP, Decimal\n",
            ),
            call(
                "edit_file",
                path="stockroom/money.py",
                old="        return Money(round(self.cents * rate / 100))\n",
                new="        exact = self.cents * rate / 100\n"
                "        return Money(int(exact.quantize(Decimal(1), rounding=ROUND_HALF_UP)))\n",
            ),
            test(),
        ),
        say("Green.", plan(5)),
        "All ten tests pass. Two things were wrong. A large order got the lowest tier that it reached instead of the "
        "highest, and half a cent was rounded to the even neighbour instead of up. I changed `discounts.py` and "
        "`money.py`, and nothing in `data/`.",
    ]


NEW_TEST = """
    def test_half_a_cent_of_a_credit_note_is_rounded_away_from_zero(self) -> None:
        self.assertEqual(Money(-315).percent(Decimal(10)), Money(-32))

"""


def _second_turn() -> list[AIMessage | str]:
    before = "\n    def test_tier_and_customer_discount_add_up_to_the_cap(self) -> None:\n"
    return [
        say(
            "The tests are in front of me: they were read in again when the context was compacted.",
            call("edit_file", path="tests/test_orders.py", old=before, new=NEW_TEST.rstrip("\n") + "\n" + before),
            test(),
        ),
        "There is a test for credit notes now, and it passes, as do the ten others.",
    ]


FIRST_SUMMARY = """\
## Completed Tasks
### Read the failing tests
- `python -m unittest` fails in three tests of `tests/test_orders.py`; the seven others pass.
- `orders.py` and `catalog.py` were read and are right.

## Active Task
### Mend the order totals
- Goal: all tests of the project pass, by changes in the code and not in the tests.
- Quantity tiers: `DiscountPolicy.tier_percent` walks the tiers upwards and takes the first match, so that a large
  order gets the lowest tier. It should take the highest that is reached.
- Rounding: `Money.percent` uses `round()`, which rounds half a cent to the even neighbour.
- Next: edit `stockroom/discounts.py`, run the tests, edit `stockroom/money.py`, run the tests again.

## Key Decisions
- Both causes are mended where they are; `orders.py` stays as it is.

## User Directives
- "Half a cent is rounded up, as on our invoices."
- "Never edit anything in data/."

## Current Work
The causes are known and nothing is changed yet."""

SECOND_SUMMARY = """\
## Completed Tasks
### Mend the order totals
- `DiscountPolicy.tier_percent` takes the highest tier that is reached.
- `Money.percent` rounds half a cent up, with `ROUND_HALF_UP`.
- All ten tests pass.

## Active Task
None; the user was told what changed.

## Key Decisions
- Both causes were mended where they were; `orders.py` stayed as it was.

## User Directives
- "Half a cent is rounded up, as on our invoices."
- "Never edit anything in data/."

## Current Work
The turn is done. What comes next is the user's to say; the tests and `money.py` are most likely to matter."""


def worker_steps() -> list[AIMessage]:
    """Every answer of the worker, over both compactions."""
    discounts, money, tests = "stockroom/discounts.py", "stockroom/money.py", "tests/test_orders.py"
    return [
        say("", *read(discounts, money, "stockroom/orders.py")),
        say(
            "",
            call("mark_read_required", path=discounts),
            call("mark_read_required", path=money),
            call("add_reference", path=tests, note="the three tests that fail"),
            call("write_summary", text=FIRST_SUMMARY),
        ),
        say("", *read(money, tests)),
        say(
            "",
            call("mark_read_required", path=tests),
            call("mark_read_required", path=money),
            call("add_reference", path=discounts, note="mended; takes the highest tier"),
            call("write_summary", text=SECOND_SUMMARY),
        ),
    ]
