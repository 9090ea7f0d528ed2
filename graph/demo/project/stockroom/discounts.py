"""What is taken off a price: tiers by quantity, discounts by customer, and a cap on both."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from stockroom.money import Money

HUNDRED = Decimal(100)
MOST = Decimal(25)
"""No line is sold for less than three quarters of its list price."""


@dataclass(frozen=True)
class QuantityTier:
    """From this many pieces on, that many per cent off."""

    minimum: int
    percent: Decimal

    def __post_init__(self) -> None:
        if self.minimum < 1:
            raise ValueError(f"a tier begins at one piece or more, not at {self.minimum}")
        if not 0 <= self.percent <= HUNDRED:
            raise ValueError(f"a tier takes 0 to 100 per cent off, not {self.percent}")


@dataclass(frozen=True)
class CustomerDiscount:
    """What a customer gets on everything."""

    customer: str
    percent: Decimal


@dataclass
class DiscountPolicy:
    """The rules that hold for all orders."""

    tiers: list[QuantityTier] = field(default_factory=list)
    customers: dict[str, Decimal] = field(default_factory=dict)
    most: Decimal = MOST

    @classmethod
    def of(
        cls, tiers: Iterable[tuple[int, str]], customers: Iterable[CustomerDiscount] = (), most: str = "25"
    ) -> "DiscountPolicy":
        """A policy from pairs such as `(100, "7.5")`."""
        return cls(
            tiers=sorted(
                (QuantityTier(minimum, Decimal(percent)) for minimum, percent in tiers),
                key=lambda tier: tier.minimum,
            ),
            customers={discount.customer: discount.percent for discount in customers},
            most=Decimal(most),
        )

    def tier_percent(self, quantity: int) -> Decimal:
        """Per cent off for a quantity: that of the highest tier that it reaches."""
        for tier in self.tiers:
            if quantity >= tier.minimum:
                return tier.percent
        return Decimal(0)

    def customer_percent(self, customer: str | None) -> Decimal:
        """Per cent off for a customer; nothing for one without a discount."""
        return self.customers.get(customer, Decimal(0)) if customer is not None else Decimal(0)

    def percent(self, quantity: int, customer: str | None = None) -> Decimal:
        """Per cent off in all: both added up, up to the cap."""
        return min(self.tier_percent(quantity) + self.customer_percent(customer), self.most)

    def reduction(self, amount: Money, quantity: int, customer: str | None = None) -> Money:
        """What is taken off an amount."""
        return amount.percent(self.percent(quantity, customer))

    def next_tier(self, quantity: int) -> QuantityTier | None:
        """The tier that a few pieces more would reach, for the note on the offer."""
        return next((tier for tier in self.tiers if tier.minimum > quantity), None)
