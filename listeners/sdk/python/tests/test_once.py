"""Payments by `turn.once` through kills of the worker, the organism and the broker: each is paid once, and answered.

`SYSTOLE_CASES` sets the number of payments; a tenth as many kills of the worker come with them, and a fiftieth of the
organism and of the broker.
"""
from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from systole_sdk import Client
from tests.broker import SERVER
from tests.ledger import read_lines
from tests.living import PROGRAM, Living, count_cases, lives, wait_until
from tests.payloads.conform import Done, Task
from tests.pump import HERE, PATIENCE

SENDERS = 8
KEYS = {"on_unknown": "retry", "retry": {"attempts": 100}}


class Payments:
    """An organism that pays at a ledger, the ledger, and senders that each wait for their answer."""

    def __init__(self, carrier: str) -> None:
        more: dict[str, Any] = {"idle": "3s"} if carrier == "nats" else {}
        self.living = Living(carrier, "payer.py", keys={**KEYS, **more}, workers=2, slots=4)
        self.file = self.living.folder / "ledger.txt"
        self.pid_file = self.living.folder / "worker.pid"
        self.ledger = subprocess.Popen([sys.executable, str(HERE / "ledger.py"), str(self.file)], stdout=subprocess.PIPE, text=True)
        assert self.ledger.stdout
        port = self.ledger.stdout.readline().strip()
        self.living.env.update(LEDGER=f"http://127.0.0.1:{port}", PAYER_PID=str(self.pid_file))
        self.answers: dict[int, Done | Exception] = {}
        self._queue: SimpleQueue[int | None] = SimpleQueue()
        self.wanted = 0

    def __enter__(self) -> Payments:
        self.living.__enter__()
        for _ in range(SENDERS):
            threading.Thread(target=self._send, daemon=True).start()
        return self

    def __exit__(self, *raised: Any) -> None:
        for _ in range(SENDERS):
            self._queue.put(None)
        self.living.__exit__()
        self.ledger.kill()
        self.ledger.communicate()

    def _send(self) -> None:
        client = Client(log=self.living.log, patience=PATIENCE)
        while (number := self._queue.get()) is not None:
            try:
                self.answers[number] = client.ask(Task(text=str(number)), returns=Done, key=f"payment-{number}")
            except Exception as error:
                self.answers[number] = error

    def want(self, count: int) -> None:
        """Sends so many more payments."""
        for _ in range(count):
            self._queue.put(self.wanted)
            self.wanted += 1

    def wait_for_work(self, answered: int) -> None:
        """Waits until one more is answered, and another is at the ledger."""
        wait_until(lambda: len(self.answers) > answered, "no payment was answered")

        def is_paying() -> bool:
            words = [word for word, _, _ in read_lines(self.file)]
            return words.count("begin") > words.count("end") or len(self.answers) == self.wanted
        wait_until(is_paying, "no payment was begun")

    def kill(self, what: str) -> None:
        """Kills one of them, and starts it again unless the organism does."""
        living = self.living
        if what == "organism":
            living.kill()
            living.start()
        elif what == "broker":
            living.kill_broker()
            living.start_broker()
        elif living.is_remote:
            number = random.randrange(len(living.workers))
            living.workers[number].kill()
            living.workers[number].wait()
            living.workers[number] = living.start_worker(number)
        else:
            pid = int(self.pid_file.read_text())
            if b"payer.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, 9)
            wait_until(lambda: self.pid_file.read_text() != str(pid), "no worker was started again")


@unittest.skipUnless(PROGRAM, "no systole on PATH")
class Once(unittest.TestCase):
    def play(self, carrier: str) -> None:
        payments = count_cases(30)
        kills = ["worker"] * max(6, payments // 10) + ["organism"] * max(2, payments // 50)
        kills += ["broker"] * max(2, payments // 50) if carrier == "nats" else []
        random.shuffle(kills)
        with Payments(carrier) as pays:
            for number, what in enumerate(kills):
                answered = len(pays.answers)
                pays.want(payments * (number + 1) // len(kills) - payments * number // len(kills))
                pays.wait_for_work(answered)
                time.sleep(random.uniform(0, 0.06))
                pays.kill(what)
            wait_until(lambda: len(pays.answers) == payments, "not every payment was answered")
            lines = read_lines(pays.file)
        paid = [(key, amount) for word, key, amount in lines if word == "paid"]
        self.assertEqual(sorted(int(amount) for _, amount in paid), list(range(payments)), "each is paid once")
        receipts = {amount: f"paid {amount} for {key}" for key, amount in paid}
        for number, answer in sorted(pays.answers.items()):
            self.assertIsInstance(answer, Done, f"payment {number}: {answer}")
            assert isinstance(answer, Done)
            self.assertEqual(answer.text, receipts[str(number)])
        if os.environ.get("SYSTOLE_CASES"):
            begun = sum(word == "begin" for word, _, _ in lines)
            print(f"\n{carrier}: {payments} payments, {len(kills)} kills, {begun - len(paid)} repeated calls with a known key", file=sys.stderr)

    def test_each_is_paid_once_over_stdin(self) -> None:
        self.play("lines")

    @unittest.skipUnless(SERVER, "no nats-server on PATH")
    def test_each_is_paid_once_over_nats(self) -> None:
        self.play("nats")


@unittest.skipUnless(PROGRAM, "no systole on PATH")
class Killed(unittest.TestCase):
    def test_hung_work_over_stdin_is_gone_after_the_organism_is_killed(self) -> None:
        with Payments("lines") as pays:
            sent = pays.living.client.send(Task(do="hang", n=8))
            wait_until(pays.pid_file.with_suffix(".hung").exists)
            pid = int(pays.pid_file.read_text())
            self.assertTrue(lives(pid))
            pays.living.kill()
            wait_until(lambda: not lives(pid), "the worker outlived its organism")
            pays.living.start()
            self.assertEqual(pays.living.client.wait(sent, returns=Done).attempt, 2)

    @unittest.skipUnless(SERVER, "no nats-server on PATH")
    def test_an_answer_over_nats_counts_after_the_organism_was_killed(self) -> None:
        with Payments("nats") as pays:
            sent = pays.living.client.send(Task(do="hang", n=3))
            wait_until(pays.pid_file.with_suffix(".hung").exists)
            pays.living.kill()
            pays.living.start()
            self.assertEqual(pays.living.client.wait(sent, returns=Done).attempt, 1)
            self.assertTrue(all(worker.poll() is None for worker in pays.living.workers))


if __name__ == "__main__":
    unittest.main()
