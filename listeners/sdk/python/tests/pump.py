"""The pump's side of a pipe: starts a worker as an organism does, writes deliveries, and reads what it says."""
from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from systole_sdk.documents import CORE, ENVELOPE, LISTENER, STAMP
from systole_sdk.markup import Element, read

HERE = Path(__file__).parent
NS = "https://xml-pipeline.org/ns/conform/v1"
PATIENCE = 60.0


def environment(**more: str) -> dict[str, str]:
    """The environment of a program of an organism."""
    base = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    path = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("SYSTOLE_TEST_PYTHON")])])
    return {**base, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": path, "SYSTOLE_ORGANISM": "hello", "SYSTOLE_LISTENER": "worker",
            "SYSTOLE_PROTOCOL": "1", "SYSTOLE_MODE": "stay", **more}


def task(do: str = "echo", text: str = "", **attributes: object) -> str:
    """A request."""
    said = "".join(f" {name}={quoteattr(str(value))}" for name, value in {"do": do, **attributes}.items())
    return f'<task xmlns="{NS}"{said}>{escape(text)}</task>'


def answers(*inside: str, inbox: str = "", turn: int = 1, more: str = "") -> str:
    """The answers of a later turn."""
    items = "".join(f'<item ordinal="{number}" from="peer" seq="{number + 3}">{one}</item>' for number, one in enumerate(inside))
    return f'<answers xmlns="{CORE}" turn="{turn}"{more}>{items}<inbox>{inbox}</inbox></answers>'


def message(delivery: str, payload: str, *, attempt: int = 1, turn: int = 1, key: str = "key-1", more: str = "",
            meta: str = "") -> str:
    """A delivery."""
    stamp = (f'<stamp xmlns="{STAMP}" id="r1" seq="1" call="1" turn="{turn}" delivery="{delivery}" attempt="{attempt}" '
             f'key="{key}" request="1"{more}/>')
    return (f'<message xmlns="{ENVELOPE}"><meta><from>asker</from><to>worker</to><thread>sess-da5910918c72</thread>{stamp}'
            f"{meta}</meta>{payload}</message>")


def answer(delivery: str, number: str, inside: str = "") -> str:
    """The answer to a question or an entry."""
    return f'<answer xmlns="{LISTENER}" id="{number}" delivery="{delivery}">{inside}</answer>'


def cancel(delivery: str) -> str:
    """A delivery is called back."""
    return f'<cancel xmlns="{LISTENER}" delivery="{delivery}"/>'


class Pump:
    """A worker as a process, and both ends of its pipe."""

    def __init__(self, *, framing: str = "lines", program: str | Path = HERE / "worker.py", reads: bool = True, **more: str) -> None:
        self.framing = framing
        self.process = subprocess.Popen([sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment(**more), start_new_session=True)
        self.stderr: list[bytes] = []
        self.raw: list[bytes] = []
        self._documents: queue.Queue[Element | None] = queue.Queue()
        self._threads = [threading.Thread(target=self._read_stderr, daemon=True)]
        if reads:
            self._threads.append(threading.Thread(target=self.read_all, daemon=True))
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Pump:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                if stream:
                    stream.close()
            except OSError:
                pass

    def frame(self, document: str) -> bytes:
        """A document as the pump writes it."""
        data = document.encode()
        return b"%d\n%b" % (len(data), data) if self.framing == "length" else data.replace(b"\n", b"&#10;") + b"\n"

    def send(self, *documents: str) -> None:
        """Writes documents, all at once."""
        self.write(b"".join(map(self.frame, documents)))

    def write(self, data: bytes) -> None:
        """Writes bytes."""
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def close(self) -> None:
        """Ends stdin."""
        assert self.process.stdin
        self.process.stdin.close()

    def next(self) -> Element:
        """The next document of the worker."""
        found = self._documents.get(timeout=PATIENCE)
        if found is None:
            raise AssertionError(f"the worker ended: {self.words()}")
        return found

    def rest(self) -> list[Element]:
        """Everything up to the end of the worker."""
        found = []
        while (one := self._documents.get(timeout=PATIENCE)) is not None:
            found.append(one)
        return found

    def ask(self, delivery: str, payload: str, **more: Any) -> Element:
        """Sends a delivery and returns the next document."""
        self.send(message(delivery, payload, **more))
        return self.next()

    def end(self) -> int:
        """Ends stdin; the exit code."""
        self.close()
        return self.process.wait(PATIENCE)

    def words(self) -> str:
        """What it said on stderr; all of it once the process has ended."""
        if self.process.poll() is not None:
            self._threads[0].join(PATIENCE)
        return b"".join(self.stderr).decode(errors="replace")

    def hear(self, line: bytes, times: int) -> None:
        """Waits until it said a line on stderr that often."""
        until = time.monotonic() + PATIENCE
        while self.stderr.count(line) < times:
            if time.monotonic() > until:
                raise AssertionError(f"heard {line!r} less than {times} times: {self.words()}")
            time.sleep(0.01)

    def _read_stderr(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.stderr.append(line)

    def read_all(self) -> None:
        """Reads documents until the worker ends."""
        stream: Any = self.process.stdout
        while line := stream.readline():
            document = stream.read(int(line)) if self.framing == "length" else line
            self.raw.append(document)
            self._documents.put(read(document))
        self._documents.put(None)
