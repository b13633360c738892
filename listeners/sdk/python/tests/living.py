"""A real organism with one listener, its broker, and its workers: each can be killed and started again."""
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

from systole_sdk import Client
from tests.broker import SERVER, find_port
from tests.pump import HERE, PATIENCE

PROGRAM = os.environ.get("SYSTOLE") or shutil.which("systole")
PATH = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("SYSTOLE_TEST_PYTHON")])])
SCHEMA = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="https://xml-pipeline.org/ns/conform/v1"
  targetNamespace="https://xml-pipeline.org/ns/conform/v1" elementFormDefault="qualified">
  <xs:element name="task"><xs:complexType><xs:simpleContent><xs:extension base="xs:string">
    <xs:attribute name="do" type="xs:string"/><xs:attribute name="n" type="xs:nonNegativeInteger"/>
    <xs:attribute name="code" type="xs:string"/></xs:extension></xs:simpleContent></xs:complexType></xs:element>
  <xs:element name="done"><xs:complexType><xs:simpleContent><xs:extension base="xs:string">
    <xs:attribute name="key" type="xs:string" use="required"/><xs:attribute name="attempt" type="xs:positiveInteger" use="required"/>
    <xs:attribute name="turn" type="xs:positiveInteger" use="required"/><xs:attribute name="n" type="xs:nonNegativeInteger"/>
    <xs:attribute name="sender" type="xs:string" use="required"/></xs:extension></xs:simpleContent></xs:complexType></xs:element>
  <xs:element name="remark"><xs:complexType><xs:simpleContent><xs:extension base="xs:string">
    <xs:attribute name="n" type="xs:nonNegativeInteger" use="required"/></xs:extension></xs:simpleContent></xs:complexType></xs:element>
</xs:schema>
"""


def count_cases(usual: int) -> int:
    """How many cases are tried: `SYSTOLE_CASES`, or the usual number."""
    return int(os.environ.get("SYSTOLE_CASES") or usual)


def wait_until(holds: Callable[[], Any], words: str = "it never came") -> None:
    """Waits until something holds."""
    until = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > until:
            raise AssertionError(words)
        time.sleep(0.01)


def lives(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Living:
    """The organism `hello` with the listener `worker`, over lines, length or nats."""

    def __init__(self, carrier: str, program: str = "worker.py", *, keys: dict[str, Any] | None = None,
                 env: dict[str, str] | None = None, workers: int = 1, slots: int = 16, schema: str = SCHEMA) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.log = str(self.folder / "own.db")
        self.client = Client(log=self.log, patience=PATIENCE)
        self.process: subprocess.Popen[bytes] | None = None
        self.broker: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self.is_remote = carrier == "nats"
        self._program = str(HERE / program)
        self._count = workers
        self._slots = slots
        self.env = {"PYTHONPATH": PATH, **(env or {})}
        self._schema = schema
        self._framing = " framing: length," if carrier == "length" else ""
        self._keys = keys or {}
        self.port = find_port()
        self.environment = {**os.environ, "PATH": os.environ["PATH"] + os.pathsep + str(Path(SERVER or "/").parent)}

    def write(self) -> None:
        """Writes its file."""
        (self.folder / "conform.xsd").write_text(self._schema)
        run = f"run: [{sys.executable}, {self._program}],{self._framing} env: {write_yaml(self.env)}"
        more = "".join(f", {name}: {write_yaml(value)}" for name, value in self._keys.items())
        listener = f"{{{'nats: true' if self.is_remote else run}, accepts: [task], returns: [done, remark], in_flight: 16, entry: true{more}}}"
        bus = f"bus: {{nats: 'nats://127.0.0.1:{self.port}', key_env: BUS_KEY}}\n" if self.is_remote else ""
        (self.folder / "organism.yaml").write_text(
            f"organism: {{name: hello, entry: worker}}\nschemas: [conform.xsd]\n{bus}listeners:\n  worker: {listener}\n")

    def __enter__(self) -> Living:
        self.write()
        if self.is_remote:
            made = self.call("permissions", "--nats-config")
            (self.folder / "nats.conf").write_text(made)
            self.environment["BUS_KEY"] = (self.folder / "keys/_pump.nk").read_text().strip()
            self.start_broker()
        self.start()
        assert self.process
        run_file = Path(self.log + ".run")
        wait_until(lambda: run_file.exists() or self.process and self.process.poll() is not None)
        if self.process.poll() is not None:
            raise AssertionError((self.folder / "run.txt").read_text())
        self.client.status()
        if self.is_remote:
            for number in range(self._count):
                self.workers.append(self.start_worker(number))
        return self

    def __exit__(self, *_: Any) -> None:
        for process in [*self.workers, self.process]:
            if process is not None:
                process.send_signal(signal.SIGTERM)
        for process in [*self.workers, self.process, self.broker]:
            if process is not None:
                try:
                    process.wait(0 if process is self.broker else 8)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, *words: str) -> str:
        """Runs a command beside the organism; what it prints."""
        done = subprocess.run([PROGRAM or "", *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, env=self.environment)
        if done.returncode:
            raise AssertionError(f"{words}: {done.returncode}: {done.stderr}")
        return done.stdout

    def start(self) -> None:
        """Starts the organism on its log."""
        with open(self.folder / "run.txt", "ab") as said:
            self.process = subprocess.Popen([PROGRAM or "", "run", "--log", self.log, "--set", "console.listen=127.0.0.1:0"], cwd=self.folder,
                                            stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=self.environment)

    def kill(self) -> None:
        """Kills the organism."""
        assert self.process
        self.process.kill()
        self.process.wait()

    def start_broker(self) -> None:
        """Starts the broker on its port and its store."""
        assert SERVER
        self.broker = subprocess.Popen([SERVER, "-c", "nats.conf", "-l", "nats.log"], cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill_broker(self) -> None:
        """Kills the broker."""
        assert self.broker
        self.broker.kill()
        self.broker.wait()

    def start_worker(self, number: int = 0) -> subprocess.Popen[bytes]:
        """Starts a worker over NATS."""
        environment = {**os.environ, **self.env, "SYSTOLE_NATS": f"nats://127.0.0.1:{self.port}", "SYSTOLE_ORGANISM": "hello",
                       "SYSTOLE_LISTENER": "worker", "SYSTOLE_KEY_FILE": str(self.folder / "keys/worker.nk"), "SYSTOLE_SLOTS": str(self._slots)}
        with open(self.folder / f"worker{number}.txt", "ab") as said:
            return subprocess.Popen([sys.executable, self._program], env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said)


def write_yaml(value: object) -> str:
    """A value in the file."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {write_yaml(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(write_yaml, value)) + "]"
    return f"'{value}'" if isinstance(value, str) and not value.isalnum() else str(value)
