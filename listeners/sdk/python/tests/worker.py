"""A worker that does what a `<task>` says: what the tests drive as a process of its own."""
from __future__ import annotations

import hashlib
import os
import sys
import threading
import time

from systole_sdk import Again, Fail, Turn, listener, run

from tests.payloads.conform import Done, Remark, Task

LOCK = threading.Lock()
BARRIERS: dict[str, threading.Barrier] = {}


def done(request: Task, turn: Turn, text: str = "", n: int | None = None) -> Done:
    return Done(text=text, key=turn.key, attempt=turn.attempt, turn=turn.number, sender=turn.sender, n=n)


@listener
def work(request: Task, turn: Turn) -> Done | list[Task] | list[Remark | Done] | None:
    n, text = request.n or 0, request.text
    if turn.number > 1:
        said = [one.payload.text for one in turn.answers if isinstance(one.payload, Done)]
        return done(request, turn, ("" if request.do != "call" else f"{request.code or ''}") + "".join(said), n)
    if request.do == "sleep":
        turn.sleep(n / 1000)
    elif request.do == "fail":
        raise Fail(request.code or "task.failed", text, retry=n == 1)
    elif request.do == "again":
        raise Again(request.code or "task.again", text)
    elif request.do == "throw":
        raise RuntimeError(text or "thrown")
    elif request.do == "exit":
        os._exit(n)
    elif request.do == "hang" and request.code:
        with LOCK:
            barrier = BARRIERS.setdefault(request.code, threading.Barrier(n))
        barrier.wait()
    elif request.do == "hang":
        if text:
            print(text, file=sys.stderr, flush=True)
        while True:
            time.sleep(0.05)
    elif request.do == "print":
        print(text, end="", flush=True)
    elif request.do == "stderr":
        sys.stderr.write("x" * n + "\n")
    elif request.do == "progress":
        turn.progress(text)
    elif request.do == "notice":
        turn.notice(request.code or "task.notice", text)
    elif request.do == "view":
        view = turn.view()
        texts = "".join(one.element.text for one in view.messages)
        return done(request, turn, hashlib.sha256(texts.encode()).hexdigest(), len(view.messages))
    elif request.do == "blob":
        data = bytes(range(256)) if n else text.encode()
        stored = turn.put_blob(data)
        assert turn.blob(stored) == data
        return done(request, turn, stored)
    elif request.do == "once":
        return done(request, turn, turn.once("charge", request, lambda: pay(request, turn)))
    elif request.do == "call":
        return [Task(do="echo", text=f"{text}{number}") for number in range(n)]
    elif request.do == "many":
        remarks: list[Remark | Done] = [Remark(n=number, text=text) for number in range(n)]
        return [*remarks, done(request, turn, text)]
    elif request.do == "large":
        return done(request, turn, "x" * n)
    elif request.do == "bad":
        return done(request, turn, "\x01")
    elif request.do == "silent":
        return None
    return done(request, turn, text)


def pay(request: Task, turn: Turn) -> str:
    if request.code == "crash":
        raise OSError("the line broke")
    if request.code == "refused":
        raise Fail("bank.refused", "no money")
    return f"paid {turn.key}"


if __name__ == "__main__":
    run(grace=float(os.environ.get("SYSTOLE_TEST_GRACE", "30")))
