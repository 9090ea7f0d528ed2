"""What lies in the warehouse."""

import unittest
from datetime import date
from pathlib import Path

from stockroom import Batch, Catalog, Money, Order, OutOfStock, Stock

CATALOG = Catalog.load(Path(__file__).parents[1] / "data" / "catalog.csv")


class StockTest(unittest.TestCase):
    def setUp(self) -> None:
        self.stock = Stock(CATALOG)
        self.stock.receive(Batch("GLUE-2K", 30, Money.parse("5.10"), date(2024, 3, 1)))
        self.stock.receive(Batch("GLUE-2K", 20, Money.parse("4.80"), date(2024, 1, 15)))

    def test_the_oldest_batch_is_shipped_first(self) -> None:
        self.stock.reserve("GLUE-2K", 25)
        self.assertEqual(self.stock.ship("GLUE-2K", 25), Money.parse("121.50"))
        self.assertEqual(self.stock.on_hand("GLUE-2K"), 25)

    def test_what_is_reserved_cannot_be_sold_again(self) -> None:
        self.stock.reserve("GLUE-2K", 45)
        with self.assertRaises(OutOfStock):
            self.stock.reserve("GLUE-2K", 6)

    def test_an_order_is_reserved_whole_or_not_at_all(self) -> None:
        order = Order(CATALOG)
        order.add("GLUE-2K", 10)
        order.add("TAPE-50", 1)
        with self.assertRaises(OutOfStock):
            order.place(self.stock)
        self.assertEqual(self.stock.free("GLUE-2K"), 50)

    def test_the_value_is_what_the_goods_were_bought_for(self) -> None:
        self.assertEqual(self.stock.value(), Money.parse("249.00"))


if __name__ == "__main__":
    unittest.main()
