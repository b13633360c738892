"""The client of an organism over its HTTP door: sends messages, waits, decides, and follows the log.

    client = Client()                      # beside a running organism, as its operator
    answer = client.ask(Weather(city="Rome"), returns=WeatherAnswer)
"""
from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any, Iterator, TypeVar, cast, overload

from .operations import AsyncOperations, Operations
from .payload import Payload, find_files, read, to_element, write
from .sending import Door, Problem, Sent, Unanswered, read_events

if TYPE_CHECKING:
    from typing import AsyncIterator

    from . import bodies
    from .markup import Element

T = TypeVar("T", bound=Payload)
LONGEST_WAIT = 300
CONTACT = 1.0  # A connection that was cut after so many seconds had reached the organism.
PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Client(Operations):
    """A client with a token, or the operator of an organism on this machine. Safe to share between threads."""

    def __init__(self, url: str | None = None, token: str | None = None, *, log: str | None = None, patience: float = 30) -> None:
        self._door = Door(url or os.environ.get("SYSTOLE_URL"), token or os.environ.get("SYSTOLE_TOKEN"), log)
        self._patience = patience  # Seconds without contact for which a request is repeated.

    def _call(self, method: str, path: str, query: dict[str, Any], body: Any = None, *, is_bytes: bool = False) -> Any:
        said = b"" if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if said else {}
        _, answer = self._request(method, path, query, said, headers, repeats=method == "GET")
        return answer if is_bytes else json.loads(answer)

    def _request(self, method: str, path: str, query: dict[str, Any], body: bytes, headers: dict[str, str], *,
                 repeats: bool, timeout: float = 60) -> tuple[int, bytes]:
        """One request; again, with the same bytes, if it may be repeated and nothing is known of it."""
        until: float | None = None
        tries = 0
        while True:
            begun = time.monotonic()
            pause = PAUSES[min(tries, len(PAUSES) - 1)]
            try:
                status, answer, after = self._door.request(method, path, query, body, headers, timeout)
                if status < 400:
                    return status, answer
                problem: Exception = Problem.read(status, answer)
                if status not in (429, 503):
                    raise problem
                pause = max(pause, after)
            except OSError as error:
                problem = error
                if isinstance(error, ConnectionError) and time.monotonic() - begun > CONTACT:
                    until = None
            until = until or time.monotonic() + self._patience
            if not repeats or time.monotonic() + pause > until:
                raise problem
            time.sleep(pause)
            tries += 1

    def send(self, payload: Payload | Element, *, to: str | None = None, thread: str | None = None, key: str | None = None,
             subject: str | None = None) -> Sent:
        """Sends a message. It is on disk once this returns; `wait` waits for what comes of it."""
        for file in find_files(payload):
            assert file.data is not None
            self._request("POST", "/v1/files", {}, file.data, {}, repeats=True)
        sent = Sent(write(to_element(payload)).encode(), key or os.urandom(16).hex(), {"to": to, "thread": thread}, subject)
        self._post(sent, 0)
        return sent

    def _post(self, sent: Sent, seconds: int) -> None:
        headers = {"Idempotency-Key": sent.key, "Content-Type": "application/xml"}
        if seconds:
            headers["Systole-Wait"] = str(seconds)
        if sent.subject:
            headers["Systole-Subject"] = sent.subject.encode().decode("latin-1")  # http.client writes headers as Latin-1: UTF-8 goes out.
        _, answer = self._request("POST", "/v1/messages", sent.query, sent.document, headers, repeats=True, timeout=seconds + 60)
        sent.take(json.loads(answer))

    def wait(self, sent: Sent, returns: type[T], *, timeout: float = LONGEST_WAIT) -> T:
        """The answer to a message; `Unanswered`, if there is none."""
        until = time.monotonic() + timeout
        while True:
            left = min(LONGEST_WAIT, int(until - time.monotonic()) + 1)
            if left < 1:
                raise Unanswered("client.timeout", f"thread {sent.thread} is not done after {timeout:g} s", sent.result)
            self._post(sent, left)
            result = sent.result
            if result is not None and result["outcome"] == "answered":
                return read(returns, result.get("payload", ""))
            if result is not None and result["outcome"] != "open":
                code = result.get("code", result["outcome"])
                raise Unanswered(code, f"thread {sent.thread}: {result['outcome']}: {result.get('payload', '')}".rstrip(": "), result)

    def ask(self, payload: Payload | Element, returns: type[T], *, to: str | None = None, thread: str | None = None,
            key: str | None = None, subject: str | None = None, timeout: float = LONGEST_WAIT) -> T:
        """Sends a message and waits for the answer."""
        return self.wait(self.send(payload, to=to, thread=thread, key=key, subject=subject), returns, timeout=timeout)

    def approve(self, approval: bodies.Approval, note: str | None = None) -> bodies.Decided:
        """Lets the payload go out that was read: another one is refused."""
        return self._decide(approval, {"outcome": "approved", "note": note})

    def reject(self, approval: bodies.Approval, note: str) -> bodies.Decided:
        """Rejects the payload."""
        return self._decide(approval, {"outcome": "rejected", "note": note})

    def amend(self, approval: bodies.Approval, payload: Payload | Element, note: str | None = None) -> bodies.Decided:
        """Lets another payload go out in place of the one that was read."""
        return self._decide(approval, {"outcome": "amended", "payload": write(to_element(payload)), "note": note})

    def choose(self, question: bodies.Question, choice: str, note: str | None = None) -> bodies.Decided:
        """Answers a question."""
        return self._decide(question, {"outcome": "chosen", "choice": choice, "note": note})

    def _decide(self, waiting: bodies.Approval | bodies.Question, decision: dict[str, str | None]) -> bodies.Decided:
        from urllib.parse import quote
        given = {name: value for name, value in decision.items() if value is not None}
        path = f"/v1/approvals/{quote(waiting['id'], safe='')}"
        return cast("bodies.Decided", self._call("POST", path, {}, {**given, "hash": waiting["hash"]}))

    @overload
    def events(self, from_: int | None = None, *, thread: str | None = None) -> Iterator[bodies.Record]: ...
    @overload
    def events(self, from_: int | None = None, *, thread: str | None = None, voice: bool) -> Iterator[bodies.Record | bodies.Spoken]: ...

    def events(self, from_: int | None = None, *, thread: str | None = None, voice: bool = False) -> Iterator[Any]:
        """The records after a position, then each new one, once and in order; for ever, over cuts and restarts.

        Without a position it begins with what is new. With `voice` it also yields what listeners say while they work.
        """
        position = int(self.status()["position"]) if from_ is None else from_
        tries = 0
        while True:
            try:
                query = {"from": position, "thread": thread, "voice": "true" if voice else None}
                for number, event in read_events(self._door.follow(query, position)):
                    tries = 0
                    if number is None:
                        yield event
                    elif number > position:
                        position = number
                        yield event
            except OSError:
                pass
            except Problem as problem:
                if problem.status not in (401, 429, 503) or (problem.status == 401 and not self._door.is_local):
                    raise
            time.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1


class AsyncClient(AsyncOperations):
    """The same client, to be awaited. Its requests run in threads of its own."""

    def __init__(self, url: str | None = None, token: str | None = None, *, log: str | None = None, patience: float = 30) -> None:
        from concurrent.futures import ThreadPoolExecutor
        self._client = Client(url, token, log=log, patience=patience)
        self._threads = ThreadPoolExecutor(256, "systole client")

    async def _run(self, function: Any, *words: Any, **more: Any) -> Any:
        import asyncio
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: function(*words, **more))

    async def _call(self, method: str, path: str, query: dict[str, Any], body: Any = None, *, is_bytes: bool = False) -> Any:
        return await self._run(self._client._call, method, path, query, body, is_bytes=is_bytes)

    async def send(self, payload: Payload | Element, *, to: str | None = None, thread: str | None = None,
                   key: str | None = None, subject: str | None = None) -> Sent:
        """Sends a message."""
        return cast(Sent, await self._run(self._client.send, payload, to=to, thread=thread, key=key, subject=subject))

    async def wait(self, sent: Sent, returns: type[T], *, timeout: float = LONGEST_WAIT) -> T:
        """The answer to a message; `Unanswered`, if there is none."""
        return cast(T, await self._run(self._client.wait, sent, returns, timeout=timeout))

    async def ask(self, payload: Payload | Element, returns: type[T], *, to: str | None = None, thread: str | None = None,
                  key: str | None = None, subject: str | None = None, timeout: float = LONGEST_WAIT) -> T:
        """Sends a message and waits for the answer."""
        return cast(T, await self._run(self._client.ask, payload, returns, to=to, thread=thread, key=key, subject=subject,
                                       timeout=timeout))

    async def approve(self, approval: bodies.Approval, note: str | None = None) -> bodies.Decided:
        """Lets the payload go out that was read."""
        return cast("bodies.Decided", await self._run(self._client.approve, approval, note))

    async def reject(self, approval: bodies.Approval, note: str) -> bodies.Decided:
        """Rejects the payload."""
        return cast("bodies.Decided", await self._run(self._client.reject, approval, note))

    async def amend(self, approval: bodies.Approval, payload: Payload | Element, note: str | None = None) -> bodies.Decided:
        """Lets another payload go out in place of the one that was read."""
        return cast("bodies.Decided", await self._run(self._client.amend, approval, payload, note))

    async def choose(self, question: bodies.Question, choice: str, note: str | None = None) -> bodies.Decided:
        """Answers a question."""
        return cast("bodies.Decided", await self._run(self._client.choose, question, choice, note))

    @overload
    def events(self, from_: int | None = None, *, thread: str | None = None) -> AsyncIterator[bodies.Record]: ...
    @overload
    def events(self, from_: int | None = None, *, thread: str | None = None, voice: bool) -> AsyncIterator[bodies.Record | bodies.Spoken]: ...

    async def events(self, from_: int | None = None, *, thread: str | None = None, voice: bool = False) -> AsyncIterator[Any]:
        """The records after a position, then each new one, once and in order."""
        import asyncio
        import threading
        loop = asyncio.get_running_loop()
        came: asyncio.Queue[Any] = asyncio.Queue(100)
        wanted = [True]

        def follow() -> None:
            try:
                for event in self._client.events(from_, thread=thread, voice=voice):
                    asyncio.run_coroutine_threadsafe(came.put(event), loop).result()
                    if not wanted:
                        return
            except Exception as error:
                if not loop.is_closed():
                    asyncio.run_coroutine_threadsafe(came.put(error), loop)

        threading.Thread(target=follow, daemon=True).start()
        try:
            while True:
                event = await came.get()
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            wanted.clear()
