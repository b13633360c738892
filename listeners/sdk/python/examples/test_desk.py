"""Tests of the desk, without an organism."""
from decimal import Decimal

from desk import take_order
from payloads.shop import InStock, Order, Ordered, Paid, Payment, Stock
from systole_sdk import Refused
from systole_sdk.testing import Trial

ORDER = Order(article="lamp", count=2, account="ada")


def test_an_order_is_paid() -> None:
    trial = Trial(take_order)
    assert trial.send(ORDER).payload == Stock(article="lamp")
    in_stock = InStock(count=12, price=Decimal("19.90"))
    assert trial.answers(in_stock).payload == Payment(amount=Decimal("39.80"), account="ada")
    assert trial.answers(Paid(receipt="r7")).payload == Ordered(article="lamp", receipt="r7")


def test_what_is_not_there_is_not_paid() -> None:
    trial = Trial(take_order)
    trial.send(ORDER)
    reply = trial.answers(InStock(count=1, price=Decimal(1)))
    assert reply.failure and reply.failure.code == "shop.sold-out"
    trial.send(ORDER)
    reply = trial.answers(Refused("listener.failed", "store.unknown"))
    assert reply.failure and reply.failure.code == "shop.failed"


if __name__ == "__main__":
    test_an_order_is_paid()
    test_what_is_not_there_is_not_paid()
    print("ok")
