"""What nats-py gives: its client, and its messages, of which some are the broker's own words about a pull."""
from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .running import Misuse

if TYPE_CHECKING:
    from typing import Protocol

    from .documents import Envelope

    class Message(Protocol):
        """A message of the broker, as nats-py gives it."""

        subject: str
        reply: str
        data: bytes
        headers: dict[str, str] | None


class Held:
    """One message of the broker with a delivery: where it is renewed and answered."""

    def __init__(self, message: Message, envelope: Envelope) -> None:
        self.envelope = envelope
        self.acknowledges = message.reply
        self.replies: str = (message.headers or {})["Systole-Reply"]
        self.renewal: asyncio.Task[None] | None = None


def is_status(message: Message) -> bool:
    """Whether a message is the broker's own word about a pull."""
    return bool(status_of(message)) or not message.reply


def status_of(message: Message) -> str:
    """The status of the broker's word."""
    return (message.headers or {}).get("Status", "")


async def wait_for_first(came: asyncio.Queue[Any], wake: asyncio.Event, until: float) -> Any:
    """The next message; None once something else happens or the time is over."""
    if not came.empty():
        return came.get_nowait()
    getting, waking = asyncio.ensure_future(came.get()), asyncio.ensure_future(wake.wait())
    left = max(0.0, until - asyncio.get_running_loop().time())
    await asyncio.wait((getting, waking), timeout=left, return_when=asyncio.FIRST_COMPLETED)
    waking.cancel()
    if waking.done():
        wake.clear()
    if getting.done():
        return getting.result()
    getting.cancel()
    return None


def load_client(has_key: bool) -> tuple[Any, type[Exception]]:
    """The client of nats-py, which is looked for only now, and the class of its errors."""
    import importlib
    try:
        if has_key:
            importlib.import_module("nkeys")
        return importlib.import_module("nats.aio.client").Client, importlib.import_module("nats.errors").Error
    except ImportError as error:
        raise Misuse(f"SYSTOLE_NATS is set, and nats-py is not installed ({error}); try: pip install nats-py nkeys") from None
