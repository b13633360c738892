"""Failures that are hard to describe, and threads that the author's code keeps: each delivery is replied all the same."""
from __future__ import annotations

import threading
import unittest
from typing import Any

from systole_sdk import Cancelled, Turn
from systole_sdk.documents import Envelope
from systole_sdk.markup import read
from systole_sdk.testing import Trial, _Pump
from systole_sdk.turn import Delivery
from tests.pump import HERE, PATIENCE, Pump, message, task
from tests.test_stdin import only

FAULTS = (
    ("error", "failure", {"code": "file.missing"}, "no file"),
    ("number", "failure", {"code": "404", "outage": "404"}, "x"),
    ("none", "failure", {"code": "a.b"}, ""),
    ("again", "again", {"code": "404"}, "no file"),
    ("mute", "failure", {"code": "listener.error"}, "Mute, which cannot be described"),
    ("bare", "failure", {"code": "listener.error"}, "Bare, which cannot be described"),
    ("stderr", "failure", {"code": "listener.error"}, "RuntimeError: thrown"),
)


class Faults(unittest.TestCase):
    def test_each_fault_is_replied_and_its_place_is_free_again(self) -> None:
        for is_async in ("", "1"):
            with Pump(program=HERE / "faulty.py", ASYNC=is_async) as pump:
                for how, name, attributes, words in FAULTS:
                    said = only(pump.ask(how, task("throw", how)))
                    self.assertEqual((said.name, said.attributes, said.text), (name, attributes, words))
                self.assertEqual(only(pump.ask("d9", task(text="alive", new="1"))).text, "alive")
                self.assertEqual(pump.end(), 0)

    def test_threads_of_the_author_hold_up_no_reply(self) -> None:
        with Pump(program=HERE / "faulty.py", ASYNC="1", PLACES="64") as pump:
            pump.send(*[message(f"d{number}", task("hang")) for number in range(40)], message("p", task("progress", "on")))
            self.assertEqual(pump.next().name, "progress")
            self.assertEqual({pump.next().get("delivery") for _ in range(41)}, {"p", *[f"d{number}" for number in range(40)]})
            self.assertEqual(pump.end(), 0)


class Racing(Delivery):
    """A delivery that is called back in the moment before a sleep can be ended, and whose sleep ends in that of a cancel."""

    is_early = False

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name == "on_end":
            super().__setattr__(name, None)
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "on_end" and self.is_early:
            self.cancel()
        super().__setattr__(name, value)


class Races(unittest.TestCase):
    def setUp(self) -> None:
        self.delivery = Racing(Envelope(read(message("d1", task()))), _Pump(Trial()))

    def test_a_cancel_at_the_beginning_of_a_sleep_is_not_missed(self) -> None:
        ended: list[BaseException] = []

        def sleep() -> None:
            try:
                Turn(self.delivery).sleep(1e6)
            except Cancelled as cancelled:
                ended.append(cancelled)
        self.delivery.is_early = True
        thread = threading.Thread(target=sleep, daemon=True)
        thread.start()
        thread.join(PATIENCE)
        self.assertEqual(ended, [self.delivery.fault])

    def test_a_cancel_at_the_end_of_a_sleep(self) -> None:
        ends: list[int] = []
        self.delivery.on_end = lambda: ends.append(1)
        self.delivery.cancel()
        self.assertEqual(ends, [1])


if __name__ == "__main__":
    unittest.main()
