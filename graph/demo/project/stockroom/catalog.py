"""Products and their prices."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stockroom.money import Money, NotAnAmount

COLUMNS = ("sku", "name", "price", "unit", "reorder_at")


class BadCatalog(ValueError):
    """A catalog file that cannot be used; the text names the line."""


class UnknownProduct(KeyError):
    """No product has this number."""

    def __init__(self, sku: str) -> None:
        super().__init__(sku)
        self.sku = sku

    def __str__(self) -> str:
        return f"no product is numbered {self.sku!r}"


@dataclass(frozen=True)
class Product:
    """One thing that is sold."""

    sku: str
    name: str
    price: Money
    unit: str = "piece"
    reorder_at: int = 0
    """When no more than this is left, it is ordered again."""


class Catalog:
    """All products, by their number."""

    def __init__(self, products: Iterable[Product] = ()) -> None:
        self._products: dict[str, Product] = {}
        for product in products:
            self.add(product)

    @classmethod
    def load(cls, path: Path) -> "Catalog":
        """Read a CSV file with the columns sku, name, price, unit, reorder_at."""
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            if tuple(rows.fieldnames or ()) != COLUMNS:
                raise BadCatalog(f"{path.name} must have the columns {', '.join(COLUMNS)}")
            return cls(_product(path, number, row) for number, row in enumerate(rows, start=2))

    def add(self, product: Product) -> None:
        """Take in a product; its number must be free."""
        if product.sku in self._products:
            raise BadCatalog(f"the number {product.sku!r} is used twice")
        self._products[product.sku] = product

    def __getitem__(self, sku: str) -> Product:
        try:
            return self._products[sku]
        except KeyError:
            raise UnknownProduct(sku) from None

    def __contains__(self, sku: object) -> bool:
        return sku in self._products

    def __iter__(self) -> Iterator[Product]:
        return iter(sorted(self._products.values(), key=lambda product: product.sku))

    def __len__(self) -> int:
        return len(self._products)


def _product(path: Path, number: int, row: dict[str, str]) -> Product:
    try:
        price, reorder_at = Money.parse(row["price"]), int(row["reorder_at"])
    except (NotAnAmount, ValueError) as error:
        raise BadCatalog(f"{path.name}, line {number}: {error}") from error
    if price < Money.zero() or reorder_at < 0:
        raise BadCatalog(f"{path.name}, line {number}: nothing can be below zero")
    return Product(row["sku"].strip(), row["name"].strip(), price, row["unit"].strip(), reorder_at)
