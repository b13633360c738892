"""desk: takes an order, asks the store and the bank, and says what was ordered."""
from payloads.shop import InStock, Order, Ordered, Paid, Payment, Stock
from systole_sdk import Fail, Turn, listener, run


@listener
def take_order(order: Order, turn: Turn) -> Stock | Payment | Ordered:
    if turn.number == 1:
        return Stock(article=order.article)
    answer = turn.answers[0]
    if isinstance(answer.payload, InStock):
        if answer.payload.count < order.count:
            raise Fail("shop.sold-out", f"{answer.payload.count} of {order.article} are left")
        return Payment(amount=answer.payload.price * order.count, account=order.account)
    if isinstance(answer.payload, Paid):
        return Ordered(article=order.article, receipt=answer.payload.receipt)
    raise Fail("shop.failed", str(answer.refusal))


if __name__ == "__main__":
    run()
