"""How a worker over NATS is found: it answers `$SRV` lookups in the form of NATS micro services."""
from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Awaitable, Callable

from .handlers import Registry

if TYPE_CHECKING:
    from .messages import Message


class Service:
    """What a worker shows of itself: nothing of any delivery."""

    def __init__(self, organism: str, token: str, functions: Registry) -> None:
        self.id = os.urandom(11).hex()
        self.last_error = ""
        self._organism = organism
        self._token = token
        self._accepts = " ".join(functions.name_elements())[:1024]
        self._started = datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")
        self._requests = self._errors = self._nanoseconds = 0

    def count(self, document: bytes, seconds: float) -> None:
        """Counts one delivery."""
        self._requests += 1
        self._nanoseconds += int(seconds * 1e9)
        if b"><failure code=" in document[:512]:
            self._errors += 1

    def list_subjects(self) -> list[tuple[str, str]]:
        """The subjects to hear, each with its kind."""
        return [(f"$SRV.{kind}{more}", kind) for kind in ("PING", "INFO", "STATS")
                for more in ("", f".{self._token}", f".{self._token}.{self.id}")]

    def build_callback(self, kind: str, publish: Callable[[str, bytes], Awaitable[None]]) -> Callable[[Message], Awaitable[None]]:
        """Answers a lookup."""
        async def answer(message: Message) -> None:
            if message.reply:
                await publish(message.reply, json.dumps(self._describe(kind)).encode())
        return answer

    def _describe(self, kind: str) -> dict[str, Any]:
        metadata = {"organism": self._organism, "accepts": self._accepts}
        shown: dict[str, Any] = {"type": f"io.nats.micro.v1.{kind.lower()}_response", "name": self._token, "id": self.id,
                                 "version": "1.0.0", "metadata": metadata}
        endpoint: dict[str, Any] = {"name": "deliveries", "subject": f"o.{self._organism}.dlv.{self._token}",
                                    "queue_group": self._token}
        if kind == "INFO":
            shown |= {"description": "", "endpoints": [{**endpoint, "metadata": {}}]}
        elif kind == "STATS":
            counts = {"num_requests": self._requests, "num_errors": self._errors, "last_error": self.last_error,
                      "processing_time": self._nanoseconds,
                      "average_processing_time": self._nanoseconds // max(1, self._requests)}
            shown |= {"started": self._started, "endpoints": [{**endpoint, **counts}]}
        return shown
