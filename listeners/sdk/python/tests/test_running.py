"""The worker by itself: what it does in which order, where a process shows only the end."""
from __future__ import annotations

import threading
import unittest
from unittest import mock

from systole_sdk.documents import Envelope
from systole_sdk.handlers import Registry
from systole_sdk.markup import read
from systole_sdk.running import Worker
from systole_sdk.turn import Delivery
from tests.pump import PATIENCE, message, task

A_MOMENT = 0.5


class GivenUp(unittest.TestCase):
    def test_all_are_answered_before_the_process_ends(self) -> None:
        """Two deliveries are given up at once, and the answer to each is held until the other one is there."""
        answered: list[str] = []
        at_end: list[list[str]] = []
        both, ended = threading.Event(), threading.Event()
        arrived: list[str] = []

        def reply(delivery: Delivery, document: bytes) -> None:
            arrived.append(delivery.id)
            if len(arrived) == 1:
                both.wait(A_MOMENT)
            else:
                both.set()
                ended.wait(A_MOMENT)
            answered.append(delivery.id)

        def leave(code: int) -> None:
            at_end.append(sorted(answered))
            ended.set()

        worker = Worker(Registry(), reply, 2, lambda: 1000)
        with mock.patch("systole_sdk.running.leave", leave), mock.patch("systole_sdk.running.tell"):
            for name in ("d1", "d2"):
                worker.admit(Delivery(Envelope(read(message(name, task()).encode())), mock.Mock()))
            for name in ("d1", "d2"):
                worker.cancel(name, 0.0)
            self.assertTrue(ended.wait(PATIENCE))
        self.assertEqual(at_end, [["d1", "d2"]])


if __name__ == "__main__":
    unittest.main()
