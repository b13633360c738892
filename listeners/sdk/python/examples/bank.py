"""bank: pays once for each request, however often it is asked."""
import sqlite3

from payloads.shop import Paid, Payment
from systole_sdk import Turn, listener, run


def charge(key: str, payment: Payment) -> str:
    """The service outside. It takes each key once."""
    with sqlite3.connect("bank.db") as bank:
        bank.execute("create table if not exists paid (key text primary key, amount text)")
        bank.execute("insert or ignore into paid values (?, ?)", (key, str(payment.amount)))
    return f"{payment.amount} by {payment.account}"


@listener(retry=(sqlite3.OperationalError,))
def pay(request: Payment, turn: Turn) -> Paid:
    receipt = turn.once("charge", request, lambda: charge(turn.key, request))
    return Paid(receipt=receipt)


if __name__ == "__main__":
    run()
