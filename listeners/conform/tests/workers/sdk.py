"""The worker of task.py with the SDK, over stdin and NATS. `systole sdk python` writes the SDK and payloads.conform."""
from __future__ import annotations

import hashlib
import os
import sys
import time

from payloads.conform import Done, Remark, Task
from systole_sdk import Again, Fail, To, Turn, listener, run


def done(turn: Turn, text: str, n: int | None = None) -> Done:
    return Done(text=text, key=turn.key, attempt=turn.attempt, turn=turn.number, sender=turn.sender, n=n)


@listener
def work(request: Task, turn: Turn) -> Done | list[To] | list[Remark | Done] | None:
    n, text, code = request.n, request.text, request.code or ""
    if turn.number > 1:
        return done(turn, " ".join([text, *(one.payload.text for one in turn.answers if isinstance(one.payload, Done))]))
    match request.do or "echo":
        case "echo":
            return done(turn, code + text)
        case "sleep":
            turn.sleep((n or 0) / 1000)
        case "hang":
            time.sleep(1_000_000 if n is None else n / 1000)
        case "fail":
            raise Fail(code, text, retry=n == 1)
        case "again":
            raise Again(code, text)
        case "throw":
            raise RuntimeError(text)
        case "exit":
            os._exit(n or 0)
        case "print":
            print(text, end="", flush=True)
        case "stderr":
            sys.stderr.write("x" * (n or 0))
            sys.stderr.flush()
        case "progress":
            turn.progress(text)
        case "notice":
            turn.notice(code, text)
        case "view":
            texts = [one.element.text for one in turn.view().messages]
            return done(turn, hashlib.sha256("\n".join(texts).encode()).hexdigest(), len(texts))
        case "blob":
            data = bytes.fromhex(text) if code == "hex" else text.encode()
            name = turn.put_blob(data)
            read = turn.blob(name)
            return done(turn, f"{name} {read.hex() if code == 'hex' else read.decode()}", len(read))
        case "once":
            return done(turn, turn.once("work", request, lambda: text))
        case "call":
            return [To("peer", Task(do="echo", text=f"{text}-{i}")) for i in range(n or 0)]
        case "many":
            return [*(Remark(n=i, text=text) for i in range(n or 0)), done(turn, text)]
        case "large":
            return done(turn, "x" * (n or 0))
        case "bad":
            return done(turn, "\x01")
        case "silent":
            return None
    return done(turn, text)


if __name__ == "__main__":
    run()
