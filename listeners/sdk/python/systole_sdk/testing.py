"""Testing: a listener without an organism (`Trial`), an organism as it runs (`organism`), and the organism's own tests.

    reply = Trial(weather).send(Weather(city="Rome"))
    assert reply.payload == WeatherAnswer(text="Sunny in Rome")
"""
from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Mapping, Sequence, Union

from .client import Client
from .documents import CORE, ENVELOPE, LISTENER, REPLY_BYTES, STAMP, Envelope, Fail, Refused, To, count
from .handlers import Registry
from .markup import Element, read, write
from .payload import Payload, to_element
from .running import Worker
from .shown import read_payload
from .turn import Delivery, Waiting

Answered = Union[Payload, Element, Refused, None]
_CANCEL_AFTER = 0.05


class Reply:
    """What a listener replied, read from the bytes that it would send."""

    def __init__(self, document: bytes) -> None:
        self.document = document
        reply = read(document)
        self.items: list[Payload | Element | To] = []
        self.failure: Fail | None = None
        self.again: str | None = None
        for one in reply:
            if (one.ns, one.name) == (LISTENER, "failure"):
                self.failure = Fail(one.get("code"), one.text, retry=one.get("retry") == "true",
                                    outage=one.attributes.get("outage"))
            elif (one.ns, one.name) == (LISTENER, "again"):
                self.again = one.text
            else:
                self.items.append(_read_item(one))

    @property
    def payload(self) -> Payload | Element | To:
        """The only item; AssertionError with the failure, if there is none."""
        if self.failure is not None:
            raise AssertionError(f"the listener failed: {self.failure}")
        if len(self.items) != 1:
            raise AssertionError(f"the reply has {len(self.items)} items: {self.items}")
        return self.items[0]

    def __repr__(self) -> str:
        return f"Reply({self.document.decode()})"


def _read_item(element: Element) -> Payload | Element | To:
    if (element.ns, element.name) != (ENVELOPE, "message"):
        return read_payload(element)
    meta = element.find("meta")
    to = None if meta is None else meta.find("to")
    payload = next(part for part in element if part is not meta)
    return read_payload(payload) if to is None else To(to.text, read_payload(payload))


class Trial:
    """Functions without an organism: a request or answers go in as bytes, and the reply comes out as bytes.

    A small pump answers what they ask: the view of the call, the journal, and blobs; schemas and the configuration
    are those that are given.
    """

    def __init__(self, *functions: Callable[..., Any], sender: str = "trial", schemas: Mapping[str, str] | None = None,
                 configuration: str = "") -> None:
        registry = Registry()
        for function in functions:
            registry.add(function)
        self.progress: list[str] = []
        self.notices: list[tuple[str, str]] = []
        self.journal: list[Element] = []  # Of this turn, over all its attempts.
        self.view: list[Element] = []
        self.blobs: dict[str, bytes] = {}
        self._sender = sender
        self._schemas = dict(schemas or {})
        self._configuration = configuration
        self._replied = threading.Event()
        self._document = b""
        self._worker = Worker(registry, self._put_reply, None, lambda: REPLY_BYTES)
        self._turn = self._attempt = self._deliveries = 0
        self._call = 1
        self._payload = ""
        self._inbox: list[Element] = []
        self._items = 0
        self._cancels = False

    def send(self, request: Payload | Element) -> Reply:
        """Begins a call: the first attempt at its first turn."""
        self.view = []
        self._turn, self._call = 0, self._call + 1
        element = to_element(request)
        self._show(element, "request")
        return self._begin_turn(write(element))

    def answers(self, *answers: Answered) -> Reply:
        """Begins the next turn, with the answers to the items of the last one; None for a note."""
        shown = [_write_answered(one) for one in answers]
        items = "".join([f'<item ordinal="{number}" from="peer">{"" if one is None else write(one)}</item>'
                         for number, one in enumerate(shown)])
        inbox = "".join(map(write, self._inbox))
        for number, one in enumerate(shown):
            if one is not None:
                self._show(one, "answer", f' turn="{self._turn}" ordinal="{number}"')
        for one in self._inbox:
            self._show(one, "inbox")
        self._inbox = []
        return self._begin_turn(f'<answers xmlns="{CORE}" turn="{self._turn}">{items}<inbox>{inbox}</inbox></answers>')

    def inbox(self, *payloads: Payload | Element) -> Trial:
        """Puts payloads into the inbox of the next turn."""
        self._inbox += [to_element(one) for one in payloads]
        return self

    def cancel(self) -> Trial:
        """Lets the next delivery be called back while it is at work."""
        self._cancels = True
        return self

    def crash(self) -> Reply:
        """Delivers the same turn again, as after a crash: the next attempt, the same key, and the journal kept."""
        if not self._turn:
            raise AssertionError("crash() repeats a delivery, and none was sent")
        return self._deliver()

    def _begin_turn(self, payload: str) -> Reply:
        self._payload = payload
        self._turn += 1
        self._attempt = 0
        self.journal = []
        return self._deliver()

    def _deliver(self) -> Reply:
        self._attempt += 1
        self._deliveries += 1
        known = len(self.journal)
        stamp = (f'<stamp xmlns="{STAMP}" call="{self._call}" turn="{self._turn}" delivery="trial-{self._deliveries}" '
                 f'attempt="{self._attempt}" key="trial:{self._call}:{self._turn}"{f" journal={chr(34)}{known}{chr(34)}" if known else ""}/>')
        message = (f'<message xmlns="{ENVELOPE}"><meta><from>{self._sender}</from><thread>sess-000000000000</thread>{stamp}'
                   f"</meta>{self._payload}</message>")
        delivery = Delivery(Envelope(read(message.encode())), _Pump(self))
        self._replied.clear()
        self._worker.take(delivery)
        if self._cancels:
            self._cancels = False
            threading.Timer(_CANCEL_AFTER, self._worker.cancel, (delivery.id, 3.0)).start()
        self._replied.wait()
        reply = Reply(self._document)
        for number, item in enumerate(reply.items):
            said = item.payload if isinstance(item, To) else item
            self._show(to_element(said), "said", f' turn="{self._turn}" ordinal="{number}"')
        return reply

    def _put_reply(self, delivery: Delivery, document: bytes) -> None:
        self._document = document
        self._replied.set()

    def _show(self, element: Element, sort: str, more: str = "") -> None:
        sender = {"request": self._sender, "said": "listener", "answer": "peer"}.get(sort, "core")
        head = f'<message xmlns="{LISTENER}" seq="{len(self.view) + 1}" from="{sender}" sort="{sort}"{more}>'
        self.view.append(read(f"{head}{write(element, LISTENER)}</message>"))


class _Pump:
    """The pump's side of a trial."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def send(self, delivery: Delivery, document: bytes) -> None:
        """Keeps progress and notices."""
        word = read(document)
        if word.name == "progress":
            self._trial.progress.append(word.text)
        else:
            self._trial.notices.append((word.get("code"), word.text))

    def ask(self, delivery: Delivery, document: bytes, waiting: Waiting) -> None:
        """Answers a question or an entry."""
        asked = read(document)
        answer = Element("answer", LISTENER, {"id": asked.get("id"), "delivery": delivery.id})
        try:
            said: Element | None = None
            if asked.name == "journal":
                self._keep_entry(asked)
            else:
                said = self._answer(next(iter(asked)))
        except Refused as refused:
            said = Element("system-error", CORE, {"code": refused.code, "retry_allowed": "true", "message": refused.words})
        answer.content += [] if said is None else [said]
        delivery.put_answer(count(asked.get("id")), read(write(answer)))

    def _keep_entry(self, entry: Element) -> None:
        kept = dict(entry.attributes, attempt=str(self._trial._attempt))
        del kept["delivery"]
        self._trial.journal.append(Element("journal", LISTENER, kept, list(entry.content)))

    def _answer(self, asked: Element) -> Element:
        if asked.name == "view":
            start, own = count(asked.get("from-seq")), asked.get("items") != "false"
            shown = [one for one in self._trial.view if count(one.get("seq")) >= start and (own or one.get("sort") != "said")]
            return Element("view", LISTENER, {"count": str(len(self._trial.view)), "mark": f"{self._trial._call:08x}", "began": "2026-01-01"}, list(shown))
        if asked.name == "journal":
            earlier = [one for one in self._trial.journal if count(one.get("attempt")) < self._trial._attempt]
            return Element("entries", LISTENER, {}, list(earlier))
        if asked.name == "put-blob":
            data = bytes.fromhex(asked.text) if asked.get("encoding") == "hex" else asked.text.encode()
            stored = hashlib.sha256(data).hexdigest()
            self._trial.blobs[stored] = data
            return Element("blob", LISTENER, {"hash": stored, "total": str(len(data))})
        if asked.name == "blob" and asked.get("hash") in self._trial.blobs:
            data = self._trial.blobs[asked.get("hash")]
            return Element("blob", LISTENER, {"hash": asked.get("hash"), "total": str(len(data)), "encoding": "hex"}, [data.hex()])
        if asked.name == "schema" and asked.get("name") in self._trial._schemas:
            return Element("schema", LISTENER, {"name": asked.get("name"), "total": "0"}, [self._trial._schemas[asked.get("name")]])
        if asked.name == "configuration" and self._trial._configuration:
            return Element("configuration", LISTENER, {"path": asked.get("path"), "total": "0"}, [self._trial._configuration])
        raise Refused("payload.invalid", f"the trial has nothing to answer <{asked.name}> with")


def _write_answered(answered: Answered) -> Element | None:
    if isinstance(answered, Refused):
        return Element("system-error", CORE, {"code": answered.code, "retry_allowed": "true", "message": answered.words})
    return None if answered is None else to_element(answered)


@contextmanager
def organism(file: str = "organism.yaml", *, set: Mapping[str, str] | None = None, program: str | None = None,
             patience: float = 30) -> Iterator[Client]:
    """Runs an organism on a log of its own, and yields the operator's client. Its processes end with the block."""
    command = program or os.environ.get("SYSTOLE", "systole")
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "organism.db")
        more = [word for key, value in (set or {}).items() for word in ("--set", f"{key}={value}")]
        words = [command, "run", "-f", file, "--log", log, "--set", "console.listen=127.0.0.1:0", *more]
        with open(os.path.join(folder, "words"), "w+b") as said:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            try:
                yield _find_client(process, log, said, patience)
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(patience)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _find_client(process: subprocess.Popen[bytes], log: str, said: Any, patience: float) -> Client:
    until = time.monotonic() + patience
    while time.monotonic() < until and process.poll() is None:
        if os.path.exists(log + ".run"):
            client = Client(log=log)
            try:
                client.status()
                return client
            except (OSError, ValueError):
                pass
        time.sleep(0.05)
    said.seek(0)
    raise RuntimeError(f"the organism did not start: {said.read().decode(errors='replace').strip()}")


class Case:
    """One test of the organism's own test files, and how it went."""

    def __init__(self, name: str, file: str, failure: str | None) -> None:
        self.name = name
        self.file = file
        self.failure = failure

    def check(self) -> None:
        """Fails as the test did."""
        if self.failure is not None:
            raise AssertionError(f"{self.file}: {self.name}: {self.failure}")

    def __repr__(self) -> str:
        return f"{self.file}: {self.name}"


def organism_tests(paths: Sequence[str] = (".",), *, program: str | None = None) -> list[Case]:
    """Runs `systole test`, and returns its cases, for parametrize of pytest or subTest of unittest."""
    command = program or os.environ.get("SYSTOLE", "systole")
    done = subprocess.run([command, "test", "--json", *paths], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    cases: list[Case] = []
    for line in filter(None, done.stdout.split("\n")):
        said = json.loads(line)
        if "test" in said:
            failure = None if said.get("passed") else _word(said.get("failure"))
            cases.append(Case(said["test"], said.get("file", ""), failure))
    if done.returncode and not any(case.failure for case in cases):
        cases.append(Case("systole test", ", ".join(paths), done.stderr.strip() or f"exit {done.returncode}"))
    return cases


def _word(failure: object) -> str:
    return failure if isinstance(failure, str) else json.dumps(failure, ensure_ascii=False)
