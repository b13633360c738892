"""A worker that pays at a ledger, once for each request."""
from __future__ import annotations

import os
import time
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

from systole_sdk import Turn, listener, run

from tests.payloads.conform import Done, Task


def charge(key: str, amount: str) -> str:
    with urlopen(Request(f"{os.environ['LEDGER']}/{quote(key, safe='')}", amount.encode()), timeout=30) as answer:
        return str(answer.read().decode())


@listener
def pay(request: Task, turn: Turn) -> Done:
    if request.do == "hang":
        Path(os.environ["PAYER_PID"]).with_suffix(".hung").touch()
        time.sleep(request.n or 3600)
    receipt = turn.once("charge", request, lambda: charge(turn.key, request.text))
    return Done(text=receipt, key=turn.key, attempt=turn.attempt, turn=turn.number, sender=turn.sender)


if __name__ == "__main__":
    written = Path(os.environ["PAYER_PID"])
    # Several begin at once, and each has a file of its own to put there.
    staged = written.with_suffix(f".{os.getpid()}")
    staged.write_text(str(os.getpid()))
    staged.rename(written)
    run()
