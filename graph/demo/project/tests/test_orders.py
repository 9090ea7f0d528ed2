"""What customers pay."""

import unittest
from decimal import Decimal
from pathlib import Path

from stockroom import Catalog, CustomerDiscount, DiscountPolicy, Money, Order

CATALOG = Catalog.load(Path(__file__).parents[1] / "data" / "catalog.csv")
POLICY = DiscountPolicy.of(
    tiers=[(50, "2.5"), (200, "5"), (1000, "12")],
    customers=[CustomerDiscount("hansen", Decimal(3))],
)


class OrderTotals(unittest.TestCase):
    def order(self, customer: str | None = None) -> Order:
        return Order(CATALOG, customer, POLICY)

    def test_a_small_order_costs_the_list_price(self) -> None:
        order = self.order()
        order.add("GLUE-2K", 2)
        order.add("TAPE-50", 1)
        self.assertEqual(order.total(), Money.parse("22.55"))

    def test_a_large_order_reaches_the_highest_tier(self) -> None:
        order = self.order()
        order.add("BOLT-M6", 1000)
        self.assertEqual(order.total(), Money.parse("308.00"))

    def test_pieces_added_later_count_towards_the_tier(self) -> None:
        order = self.order()
        order.add("NUT-M6", 150)
        order.add("NUT-M6", 50)
        self.assertEqual(order.total(), Money.parse("22.80"))

    def test_half_a_cent_is_rounded_up(self) -> None:
        order = self.order("hansen")
        order.add("DRILL-8", 10)
        self.assertEqual(order.savings(), Money.parse("0.95"))

    def test_tier_and_customer_discount_add_up_to_the_cap(self) -> None:
        order = Order(CATALOG, "hansen", DiscountPolicy.of([(10, "24")], [CustomerDiscount("hansen", Decimal(3))]))
        order.add("GLOVE-L", 20)
        self.assertEqual(order.savings(), Money.parse("12.25"))

    def test_the_offer_says_how_far_the_next_tier_is(self) -> None:
        order = self.order()
        order.add("BOLT-M6", 190)
        self.assertEqual(list(order.hints()), ["10 more of Hex bolt M6 x 40 and 5 % are off"])


if __name__ == "__main__":
    unittest.main()
