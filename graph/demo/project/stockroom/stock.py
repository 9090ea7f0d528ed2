"""What lies in the warehouse: batches, first in first out, and what is reserved of them."""

from collections import defaultdict, deque
from dataclasses import dataclass
from datetime import date

from stockroom.catalog import Catalog
from stockroom.money import Money


class OutOfStock(Exception):
    """More is wanted than is free."""

    def __init__(self, sku: str, wanted: int, free: int) -> None:
        super().__init__(f"{wanted} of {sku!r} are wanted and {free} are free")
        self.sku, self.wanted, self.free = sku, wanted, free


@dataclass
class Batch:
    """A delivery, or what is left of it."""

    sku: str
    quantity: int
    cost: Money
    """What one piece was bought for."""
    received: date


class Stock:
    """The batches of every product."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._batches: dict[str, deque[Batch]] = defaultdict(deque)
        self._reserved: dict[str, int] = defaultdict(int)

    def receive(self, batch: Batch) -> None:
        """Take in a delivery; batches stay in the order in which they were received."""
        if batch.sku not in self._catalog:
            raise ValueError(f"{batch.sku!r} is not in the catalog")
        if batch.quantity < 1:
            raise ValueError(f"a batch holds one piece or more, not {batch.quantity}")
        queue = self._batches[batch.sku]
        queue.append(batch)
        self._batches[batch.sku] = deque(sorted(queue, key=lambda each: each.received))

    def on_hand(self, sku: str) -> int:
        """What lies there, reserved or not."""
        return sum(batch.quantity for batch in self._batches[sku])

    def free(self, sku: str) -> int:
        """What can still be sold."""
        return self.on_hand(sku) - self._reserved[sku]

    def reserve(self, sku: str, quantity: int) -> None:
        """Keep pieces for an order."""
        if quantity > self.free(sku):
            raise OutOfStock(sku, quantity, self.free(sku))
        self._reserved[sku] += quantity

    def release(self, sku: str, quantity: int) -> None:
        """Give up a reservation, or a part of it."""
        if quantity > self._reserved[sku]:
            raise ValueError(f"only {self._reserved[sku]} of {sku!r} are reserved, not {quantity}")
        self._reserved[sku] -= quantity

    def ship(self, sku: str, quantity: int) -> Money:
        """Take reserved pieces out, the oldest first; what they were bought for."""
        self.release(sku, quantity)
        queue, cost, left = self._batches[sku], Money.zero(), quantity
        while left:
            batch = queue[0]
            taken = min(left, batch.quantity)
            batch.quantity -= taken
            left -= taken
            cost += batch.cost * taken
            if not batch.quantity:
                queue.popleft()
        return cost

    def value(self) -> Money:
        """What everything on hand was bought for."""
        cents = sum(batch.cost.cents * batch.quantity for queue in self._batches.values() for batch in queue)
        return Money(cents)
