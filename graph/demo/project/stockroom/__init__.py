"""Prices and stock of a small wholesaler."""

from stockroom.catalog import Catalog, Product
from stockroom.discounts import CustomerDiscount, DiscountPolicy, QuantityTier
from stockroom.money import Money
from stockroom.orders import Order, OrderLine
from stockroom.stock import Batch, OutOfStock, Stock

__all__ = [
    "Batch",
    "Catalog",
    "CustomerDiscount",
    "DiscountPolicy",
    "Money",
    "Order",
    "OrderLine",
    "OutOfStock",
    "Product",
    "QuantityTier",
    "Stock",
]
