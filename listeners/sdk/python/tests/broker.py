"""A real NATS server, and a pump's side of it: a stream with a consumer, deliveries, and chosen answers."""
from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

from systole_sdk.documents import LISTENER
from tests.pump import HERE, PATIENCE, environment, message

SERVER = os.environ.get("SYSTOLE_TEST_NATS_SERVER") or shutil.which("nats-server")


def find_port() -> int:
    """A free port of this machine."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def receipt(delivery: str, inside: str = "", more: str = "") -> str:
    """What came of a reply is on disk."""
    return f'<receipt xmlns="{LISTENER}" delivery="{delivery}"{more}>{inside}</receipt>'


class Broker:
    """A NATS server that can be stopped and started with its data."""

    def __init__(self) -> None:
        self.port = find_port()
        self.folder = tempfile.mkdtemp()
        self.url = f"nats://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert SERVER
        self.process = subprocess.Popen([SERVER, "-js", "-a", "127.0.0.1", "-p", str(self.port), "-sd", self.folder],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("nats-server does not listen")

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)


class Pump:
    """The pump's side: it publishes deliveries, and keeps and answers what comes."""

    def __init__(self, broker: Broker) -> None:
        from nats.aio.client import Client
        self.broker = broker
        self.client: Any = Client()
        self.replies: list[bytes] = []
        self.words: list[tuple[str, bytes]] = []
        self.acknowledged: list[bytes] = []
        self.answer: Callable[[bytes], str | None] = lambda document: receipt(name_delivery(document))
        self.worker: subprocess.Popen[bytes] | None = None

    async def __aenter__(self) -> Pump:
        from nats.js.api import AckPolicy, ConsumerConfig, RetentionPolicy, StreamConfig
        await self.client.connect(self.broker.url, max_reconnect_attempts=-1, reconnect_time_wait=1, error_cb=self._hear_error)
        stream = self.client.jetstream()
        await stream.add_stream(StreamConfig(name="SYSTOLE_hello_BUS", subjects=["o.hello.dlv.*"], retention=RetentionPolicy.WORK_QUEUE))
        await stream.add_consumer("SYSTOLE_hello_BUS", ConsumerConfig(durable_name="worker", ack_policy=AckPolicy.EXPLICIT, ack_wait=30))
        await self.client.subscribe("o.hello.in.worker.0", cb=self._hear)
        await self.client.subscribe("o.hello.live.worker", cb=self._hear_word)
        await self.client.subscribe("$JS.ACK.SYSTOLE_hello_BUS.worker.>", cb=self._hear_word)
        return self

    async def __aexit__(self, *_: Any) -> None:
        if self.worker and self.worker.poll() is None:
            os.killpg(self.worker.pid, signal.SIGKILL)
        if self.worker:
            self.worker.communicate()
        if self.broker.process is None:
            self.broker.start()  # A client of nats-py that is closed while it looks for its server may go on for ever.
        await self.wait(lambda: bool(self.client.is_connected))
        await self.client.close()

    async def _hear_error(self, error: Exception) -> None:
        pass

    async def _hear(self, message: Any) -> None:
        self.replies.append(message.data)
        said = self.answer(message.data)
        if said is not None:
            await message.respond(said.encode())

    async def _hear_word(self, message: Any) -> None:
        self.words.append((message.subject, message.data))

    def start(self, **more: str) -> None:
        """Starts the worker."""
        self.worker = subprocess.Popen([sys.executable, str(HERE / "worker.py")], stderr=subprocess.PIPE, start_new_session=True,
                                       env=environment(SYSTOLE_NATS=self.broker.url, **{"SYSTOLE_SLOTS": "2", **more}))

    async def send(self, delivery: str, payload: str, headers: dict[str, str] | None = None, **more: Any) -> None:
        """Publishes a delivery."""
        said = {"Systole-Reply": "o.hello.in.worker.0", "Systole-Protocol": "1", **(headers or {})}
        await self.client.publish("o.hello.dlv.worker", message(delivery, payload, **more).encode(), headers=said)

    async def wait(self, holds: Callable[[], bool]) -> None:
        """Waits until something holds."""
        until = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > until:
                raise AssertionError(f"it never came; replies {self.replies[-3:]}")
            await asyncio.sleep(0.02)

    def count_words(self, word: bytes) -> int:
        """How often that was published beside the replies."""
        return sum(data == word for _, data in self.words)

    async def end(self) -> tuple[int, str]:
        """Waits for the worker's end; its exit code and its words."""
        assert self.worker
        worker = self.worker
        _, said = await asyncio.get_running_loop().run_in_executor(None, lambda: worker.communicate(timeout=PATIENCE))
        return worker.returncode, said.decode()


def name_delivery(document: bytes) -> str:
    """The delivery that a document is about."""
    return document.split(b'delivery="', 1)[1].split(b'"', 1)[0].decode()
