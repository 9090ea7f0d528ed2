"""Orders: their lines, what they cost, and how they reach the warehouse."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from stockroom.catalog import Catalog, Product
from stockroom.discounts import DiscountPolicy
from stockroom.money import Money, total
from stockroom.stock import OutOfStock, Stock


@dataclass(frozen=True)
class OrderLine:
    """So many pieces of one product."""

    product: Product
    quantity: int

    def __post_init__(self) -> None:
        if self.quantity < 1:
            raise ValueError(f"a line is for one piece or more, not {self.quantity}")

    @property
    def list_price(self) -> Money:
        """Without any discount."""
        return self.product.price * self.quantity

    def price(self, policy: DiscountPolicy, customer: str | None) -> Money:
        """With the discounts of the policy."""
        return self.list_price - policy.reduction(self.list_price, self.quantity, customer)


@dataclass
class Order:
    """What one customer wants."""

    catalog: Catalog
    customer: str | None = None
    policy: DiscountPolicy = field(default_factory=DiscountPolicy)
    lines: list[OrderLine] = field(default_factory=list)

    def add(self, sku: str, quantity: int) -> OrderLine:
        """Add pieces; more of the same product make one line, so that they reach a tier together."""
        product = self.catalog[sku]
        before = next((line for line in self.lines if line.product.sku == sku), None)
        line = OrderLine(product, quantity + (before.quantity if before else 0))
        if before:
            self.lines[self.lines.index(before)] = line
        else:
            self.lines.append(line)
        return line

    def total(self) -> Money:
        """What the customer pays; every line is rounded for itself, as on the invoice."""
        return total([line.price(self.policy, self.customer) for line in self.lines])

    def savings(self) -> Money:
        """What the discounts take off."""
        return total([line.list_price for line in self.lines]) - self.total()

    def hints(self) -> Iterator[str]:
        """For each line that is close to a better tier, how many pieces are missing."""
        for line in self.lines:
            tier = self.policy.next_tier(line.quantity)
            if tier and tier.minimum - line.quantity <= tier.minimum // 10:
                yield f"{tier.minimum - line.quantity} more of {line.product.name} and {tier.percent} % are off"

    def place(self, stock: Stock) -> None:
        """Reserve every line, or none."""
        reserved: list[OrderLine] = []
        try:
            for line in self.lines:
                stock.reserve(line.product.sku, line.quantity)
                reserved.append(line)
        except OutOfStock:
            for line in reserved:
                stock.release(line.product.sku, line.quantity)
            raise
