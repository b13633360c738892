"""A worker with one place whose function fails in ways that are hard to describe, plain or (`ASYNC`) async."""
from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

from systole_sdk import Again, AsyncTurn, Fail, listener, run

from tests.payloads.conform import Done, Task

OPENED = threading.Event()


class Mute(Exception):
    """What cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Bare(Fail):
    """A failure without its parts."""

    def __init__(self) -> None:
        pass


def fail(how: str) -> None:
    number: Any = 404
    none: Any = None
    error: Any = FileNotFoundError("no file")
    if how == "error":
        raise Fail("file.missing", error)
    if how == "number":
        raise Fail(number, "x", outage=number)
    if how == "none":
        raise Fail("a.b", none)
    if how == "again":
        raise Again(number, error)
    if how == "mute":
        raise Mute
    if how == "bare":
        raise Bare
    if how == "stderr":
        reads, writes = os.pipe()
        os.close(reads)
        os.dup2(writes, 2)
        raise RuntimeError("thrown")


def done(request: Task) -> Done:
    return Done(text=request.text, key="k", attempt=1, turn=1, sender="s")


if os.environ.get("ASYNC"):
    @listener
    async def work(request: Task, turn: AsyncTurn) -> Done:
        if request.do == "hang":
            await asyncio.to_thread(OPENED.wait)
        elif request.do == "progress":
            await turn.progress(request.text)
            OPENED.set()
        elif request.do == "throw":
            fail(request.text)
        return done(request)
else:
    @listener
    def work_plainly(request: Task) -> Done:
        fail(request.text)
        return done(request)


if __name__ == "__main__":
    run(concurrency=int(os.environ.get("PLACES", "1")))
