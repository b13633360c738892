"""A ledger as a process of its own: it pays each key once, and keeps what it paid in a file.

    python3 ledger.py FILE

It prints its port. Each line of the file is `begin KEY`, `paid KEY AMOUNT` or `end KEY`; a payment is on disk before it is
answered. Both pauses are there to be killed in.
"""
from __future__ import annotations

import os
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

PAUSE = 0.04


class Ledger:
    """What was paid, by key."""

    def __init__(self, file: Path) -> None:
        self._paid = {key: amount for word, key, amount in read_lines(file) if word == "paid"}
        self._opened = file.open("a", encoding="utf-8")
        self._lock = threading.Lock()

    def write(self, *words: str) -> None:
        """Appends a line."""
        with self._lock:
            self._write(*words)

    def _write(self, *words: str) -> None:
        self._opened.write(" ".join(words) + "\n")
        self._opened.flush()
        os.fsync(self._opened.fileno())

    def pay(self, key: str, amount: str) -> str:
        """Pays, or says what was paid for the key before."""
        with self._lock:
            if key not in self._paid:
                self._paid[key] = amount
                self._write("paid", key, amount)
            return f"paid {self._paid[key]} for {key}"


def read_lines(file: Path) -> list[tuple[str, str, str]]:
    """The lines of a ledger: the word, the key and the amount."""
    if not file.exists():
        return []
    lines = [line.split(" ") for line in file.read_text(encoding="utf-8").split("\n")[:-1]]
    return [(line[0], line[1], line[2] if len(line) > 2 else "") for line in lines]


class Door(BaseHTTPRequestHandler):
    """POST /KEY with the amount."""

    ledger: Ledger

    def do_POST(self) -> None:
        """Pays."""
        key = unquote(self.path[1:])
        amount = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.ledger.write("begin", key)
        time.sleep(random.uniform(0, PAUSE))
        receipt = self.ledger.pay(key, amount).encode()
        time.sleep(random.uniform(0, PAUSE))
        self.ledger.write("end", key)
        self.send_response(200)
        self.send_header("Content-Length", str(len(receipt)))
        self.end_headers()
        try:
            self.wfile.write(receipt)
        except OSError:
            pass  # Who asked was killed.

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


if __name__ == "__main__":
    Door.ledger = Ledger(Path(sys.argv[1]))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    print(server.server_port, flush=True)
    server.serve_forever()
