"""store: says how many of an article are there, and what one costs."""
import asyncio
from decimal import Decimal

from payloads.shop import InStock, Stock
from systole_sdk import AsyncTurn, Fail, listener, run

SHELF = {
    "lamp": InStock(count=12, price=Decimal("19.90")),
    "chair": InStock(count=1, price=Decimal(80)),
}


@listener
async def look(request: Stock, turn: AsyncTurn) -> InStock:
    await turn.progress(f"looking for {request.article}")
    await asyncio.sleep(0.01)
    if request.article not in SHELF:
        raise Fail("store.unknown", f"no article is called {request.article}")
    return SHELF[request.article]


if __name__ == "__main__":
    run()
