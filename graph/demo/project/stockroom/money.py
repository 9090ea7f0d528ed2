"""Amounts of money in whole cents."""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import total_ordering

_AMOUNT = re.compile(r"(?P<sign>-?)(?P<whole>\d+)(?:[.,](?P<cents>\d{1,2}))?")


class NotAnAmount(ValueError):
    """A text that does not say how much."""


@total_ordering
@dataclass(frozen=True)
class Money:
    """An amount in one currency, in cents."""

    cents: int

    def __post_init__(self) -> None:
        if not isinstance(self.cents, int):
            raise TypeError(f"cents must be a whole number, not {self.cents!r}")

    @classmethod
    def parse(cls, text: str) -> "Money":
        """Read `12`, `12.5`, `12,50` or `-0.05`."""
        match = _AMOUNT.fullmatch(text.strip())
        if match is None:
            raise NotAnAmount(f"{text!r} is not an amount; write it like 12.50")
        cents = int(match["whole"]) * 100 + int((match["cents"] or "0").ljust(2, "0"))
        return cls(-cents if match["sign"] else cents)

    @classmethod
    def zero(cls) -> "Money":
        """Nothing."""
        return cls(0)

    def __add__(self, other: "Money") -> "Money":
        return Money(self.cents + other.cents)

    def __sub__(self, other: "Money") -> "Money":
        return Money(self.cents - other.cents)

    def __mul__(self, count: int) -> "Money":
        if not isinstance(count, int):
            raise TypeError(f"an amount is multiplied by a whole number, not {count!r}; see percent()")
        return Money(self.cents * count)

    def __lt__(self, other: "Money") -> bool:
        return self.cents < other.cents

    def percent(self, rate: Decimal) -> "Money":
        """That many per cent of the amount, in whole cents."""
        return Money(round(self.cents * rate / 100))

    def split(self, parts: int) -> list["Money"]:
        """The amount in equal parts; cents that are left over go to the first ones."""
        if parts < 1:
            raise ValueError(f"an amount cannot be split into {parts} parts")
        share, rest = divmod(self.cents, parts)
        return [Money(share + (1 if index < rest else 0)) for index in range(parts)]

    def __str__(self) -> str:
        sign = "-" if self.cents < 0 else ""
        whole, cents = divmod(abs(self.cents), 100)
        return f"{sign}{whole}.{cents:02d}"


def total(amounts: list[Money]) -> Money:
    """The sum; nothing for an empty list."""
    return Money(sum(amount.cents for amount in amounts))
