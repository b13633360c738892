"""One request to the HTTP door, its stream of events, and what can come of them."""
from __future__ import annotations

import glob
import http.client
import json
from typing import TYPE_CHECKING, Any, Iterator
from urllib.parse import urlencode, urlsplit

if TYPE_CHECKING:
    from . import bodies

QUIET = 60  # Seconds without a byte: the door sends a comment every 15.
LINE_BYTES = 16 << 20


class Problem(Exception):
    """The door refused a request: its code, its words, and the whole refusal."""

    def __init__(self, code: str, words: str, *, status: int = 0, refusal: dict[str, Any] | None = None) -> None:
        super().__init__(f"{code}: {words}")
        self.code = code
        self.words = words
        self.status = status
        self.refusal = refusal or {}

    @classmethod
    def read(cls, status: int, answer: bytes) -> Problem:
        """What an answer says."""
        try:
            refusal: Any = json.loads(answer)
        except ValueError:
            refusal = None
        if not isinstance(refusal, dict):
            return cls(f"http.{status}", answer[:200].decode(errors="replace"), status=status)
        return cls(str(refusal.get("code")), str(refusal.get("message")), status=status, refusal=refusal)


class Unanswered(Problem):
    """A message has no answer: it failed, or is not done in time. `result` is its outcome."""

    def __init__(self, code: str, words: str, result: bodies.Outcome | None) -> None:
        super().__init__(code, words)
        self.result = result


class Sent:
    """A message that is on disk: its receipt, and what sends it again with the same key."""

    def __init__(self, document: bytes, key: str, query: dict[str, Any], subject: str | None) -> None:
        self.document = document
        self.key = key
        self.query = query
        self.subject = subject
        self.receipt: bodies.Receipt | bodies.AnsweredReceipt | None = None
        self.result: bodies.Outcome | None = None

    def take(self, receipt: Any) -> None:
        """Keeps the receipt."""
        self.receipt = receipt
        self.result = receipt.get("result", self.result)

    @property
    def thread(self) -> str:
        """The thread that the message opened or goes on with."""
        return "" if self.receipt is None else self.receipt["thread"]


class Door:
    """Where the door is: an address and a token, or the run file of a log on this machine, which is read each time."""

    def __init__(self, url: str | None, token: str | None, log: str | None) -> None:
        self.is_local = url is None
        if url is not None and not token:
            raise ValueError(f"{url} needs a token: give it, or set SYSTOLE_TOKEN")
        self._url = url or ""
        self._token = token or ""
        self._log = log

    def _find(self) -> tuple[str, str]:
        if not self.is_local:
            return self._url, self._token
        found = [self._log + ".run"] if self._log else sorted(glob.glob("*.run"))
        if len(found) != 1:
            raise ValueError(f"{len(found)} run files of an organism are here; give the url and the token, or the log")
        try:
            with open(found[0], encoding="utf-8") as opened:
                run = json.load(opened)
        except FileNotFoundError:
            raise ConnectionError(f"{found[0]} does not exist: no organism runs on this log; try: systole run") from None
        return f"http://{run['address']}", run["token"]

    def _open(self, method: str, path: str, query: dict[str, Any], body: bytes, headers: dict[str, str],
              timeout: float) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        url, token = self._find()
        place = urlsplit(url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise ValueError(f"{url} is not the address of an organism, such as http://127.0.0.1:7474")
        kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
        connection = kind(place.hostname, place.port, timeout=timeout)
        given = {name: "true" if value is True else value for name, value in query.items() if value not in (None, False)}
        asked = place.path.rstrip("/") + path + ("?" + urlencode(given) if given else "")
        try:
            connection.request(method, asked, body or None, {"Authorization": f"Bearer {token}", **headers})
            return connection, connection.getresponse()
        except http.client.HTTPException as error:
            connection.close()
            raise ConnectionError(f"{url}: {type(error).__name__}: {error}") from None
        except BaseException:
            connection.close()
            raise

    def request(self, method: str, path: str, query: dict[str, Any], body: bytes, headers: dict[str, str],
                timeout: float) -> tuple[int, bytes, float]:
        """One request: its status, its answer, and how long to wait before another one."""
        connection, response = self._open(method, path, query, body, headers, timeout)
        try:
            after = response.getheader("Retry-After", "0")
            return response.status, response.read(), float(after) if after.isascii() and after.isdigit() else 0.0
        except http.client.HTTPException as error:
            raise ConnectionError(f"the answer is cut off: {error}") from None
        finally:
            connection.close()

    def follow(self, query: dict[str, Any], position: int) -> Iterator[bytes]:
        """The lines of the stream of events after a position."""
        headers = {"Last-Event-ID": str(position), "Accept": "text/event-stream"}
        connection, response = self._open("GET", "/v1/events", query, b"", headers, QUIET)
        try:
            if response.status != 200:
                raise Problem.read(response.status, response.read())
            while line := response.readline(LINE_BYTES):
                yield line.rstrip(b"\r\n")
        except http.client.HTTPException as error:
            raise ConnectionError(f"the stream is cut off: {error}") from None
        finally:
            connection.close()


def read_events(lines: Iterator[bytes]) -> Iterator[tuple[int | None, Any]]:
    """The events of a stream, each with its position; an event that is not whole is left out."""
    number: int | None = None
    kind = data = b""
    for line in lines:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if data:
                event = json.loads(data)
                if kind == b"fault":
                    raise Problem(str(event.get("code")), str(event.get("message")), refusal=event)
                yield number, event
            number, kind, data = None, b"", b""
        elif name == b"id" and value.isdigit():
            number = int(value)
        elif name == b"event":
            kind = value
        elif name == b"data":
            data += (b"\n" if data else b"") + value


