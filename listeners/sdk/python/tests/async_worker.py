"""A worker with an async function."""
from __future__ import annotations

import asyncio

from systole_sdk import AsyncTurn, listener, run

from tests.payloads.conform import Done, Task


@listener
async def work(request: Task, turn: AsyncTurn) -> Done:
    text = request.text
    if request.do == "sleep":
        await asyncio.sleep((request.n or 0) / 1000)
    elif request.do == "throw":
        raise RuntimeError("thrown")
    elif request.do == "once":
        text = await turn.once("charge", request, lambda: pay(turn))
    elif request.do == "progress":
        await turn.progress(text)
    return Done(text=text, key=turn.key, attempt=turn.attempt, turn=turn.number, sender=turn.sender)


async def pay(turn: AsyncTurn) -> str:
    await asyncio.sleep(0)
    return f"paid {turn.key}"


if __name__ == "__main__":
    run()
