"""A program that uses the payloads of a shop."""
from __future__ import annotations

from .shop import Order, OrderLine, Receipt


def answer(order: Order) -> Receipt:
    who: str = order.customer
    count: int = 0
    for line in order.line:
        count += line.count
    note: str | None = order.note
    if order.speed == "fast":
        count += 1
    return Receipt(
        text=f"{who}: {count} {note}",
        paid=True,
    )


SAMPLE = Order(
    id=1, customer="Ann",
    line=(OrderLine(name="tea", count=2),),
    speed="slow",
)
