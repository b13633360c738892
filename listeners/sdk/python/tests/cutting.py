"""A proxy before the door of an organism that cuts its connections after a chosen number of bytes."""
from __future__ import annotations

import json
import random
import socket
import struct
import threading
from pathlib import Path


class Cutting:
    """Passes bytes on to the door that a run file names, and shows itself in a run file beside it."""

    def __init__(self, run_file: Path, shown: Path) -> None:
        self.cuts = 0
        self._run_file = run_file
        self._shown = shown
        self._left: int | None = None  # Bytes until the next cut.
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    def show(self) -> None:
        """Writes the run file anew: the organism has another token after each start."""
        run = json.loads(self._run_file.read_text())
        run["address"] = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self._shown.with_suffix(".new").write_text(json.dumps(run))
        self._shown.with_suffix(".new").rename(self._shown)

    def cut_after(self, size: int) -> None:
        """Cuts the connection on which so many more bytes have come."""
        with self._lock:
            self._left = size

    def cut(self) -> None:
        """Cuts all connections."""
        for one in list(self._open):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # It was closed before.

    def close(self) -> None:
        """Takes no more connections."""
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        try:
            host, _, port = json.loads(self._run_file.read_text())["address"].rpartition(":")
            door = socket.create_connection((host, int(port)))
        except (OSError, ValueError):
            client.close()
            return
        threading.Thread(target=self._pass_up, args=(client, door), daemon=True).start()
        self._open |= {client, door}
        self._pass_down(door, client)
        self._open -= {client, door}

    def _pass_up(self, client: socket.socket, door: socket.socket) -> None:
        try:
            while data := client.recv(1 << 16):
                door.sendall(data)
        except OSError:
            pass

    def _pass_down(self, door: socket.socket, client: socket.socket) -> None:
        try:
            while data := door.recv(1 << 16):
                with self._lock:
                    left, self._left = self._left, None if self._left is None or self._left <= len(data) else self._left - len(data)
                if left is not None and left <= len(data):
                    client.sendall(data[:left])
                    if random.random() < 0.5:  # With a reset, else with an end.
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.cuts += 1
                    break
                client.sendall(data)
        except OSError:
            pass
        for one in (client, door):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
