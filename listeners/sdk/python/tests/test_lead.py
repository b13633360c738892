"""Which thread reads and which one works: work that goes on holds up no other, whatever it waits for."""
from __future__ import annotations

import hashlib
import random
import time
import unittest

from systole_sdk.markup import Element
from tests.living import count_cases
from tests.pump import HERE, Pump, answer, cancel, message, task
from tests.test_stdin import only

VIEW = f'<view count="1" mark="m" began="2026-11-21"><message seq="1" from="a" sort="request">{task(text="x")}</message></view>'
VIEWED = hashlib.sha256(b"x").hexdigest()
PAUSES = (0.0, 0.2)  # A thread watches, or sleeps since there was no work.


class Leading(unittest.TestCase):
    def setUp(self) -> None:
        self.pump = Pump()
        self.addCleanup(self.pump.__exit__)

    def test_blocked_functions_hold_up_no_neighbour(self) -> None:
        for number in range(10):
            time.sleep(PAUSES[number % 2])
            self.pump.send(message(f"h{number}", task("hang")), message(f"n{number}", task(text=f"{number}")))
            self.assertEqual(only(self.pump.next()).text, f"{number}")
            self.assertEqual(only(self.pump.ask(f"l{number}", task(text="later"))).text, "later")

    def test_functions_that_wait_for_one_another_are_all_at_work(self) -> None:
        for number in range(4):
            time.sleep(PAUSES[number % 2])
            meets = [message(f"m{number}-{one}", task("hang", "met", code=number, n=16)) for one in range(16)]
            quick = [message(f"q{number}-{one}", task(text="quick")) for one in range(16)]
            self.pump.send(*[one for pair in zip(meets, quick) for one in pair])
            replies = [self.pump.next() for _ in range(32)]
            self.assertEqual(len({one.get("delivery") for one in replies}), 32)
            self.assertEqual(sum(only(one).text == "met" for one in replies), 16)

    def test_a_question_is_answered_while_its_function_and_others_wait(self) -> None:
        for number in range(6):
            time.sleep(PAUSES[number % 2])
            self.pump.send(message(f"d{number}", task("view")), message(f"h{number}", task("hang")))
            asked = self.pump.next()
            self.assertEqual((asked.name, asked.get("delivery")), ("ask", f"d{number}"))
            self.pump.send(answer(f"d{number}", asked.get("id"), VIEW))
            self.assertEqual(only(self.pump.next()).text, VIEWED)

    def test_a_cancel_is_heard_while_the_only_function_works(self) -> None:
        for number in range(6):
            self.pump.send(message(f"d{number}", task("sleep", n=1000000)))
            time.sleep(PAUSES[number % 2])
            self.pump.send(cancel(f"d{number}"))
            self.assertEqual(only(self.pump.next()).get("code"), "listener.cancelled")
        self.assertEqual((self.pump.end(), self.pump.rest()), (0, []))


class Mixed(unittest.TestCase):
    def test_each_delivery_is_replied_once(self) -> None:
        for program in ("worker.py", "bounded.py"):
            for seed in range(count_cases(2)):
                with self.subTest(program=program, seed=seed), Pump(program=HERE / program) as pump:
                    self.check(pump, random.Random(seed))
                    self.assertEqual((pump.end(), pump.rest(), pump.words()), (0, [], ""))

    def check(self, pump: Pump, chance: random.Random) -> None:
        kinds = {f"d{number}": chance.choice(("echo", "echo", "echo", "sleep", "view", "cancelled")) for number in range(100)}
        for name, kind in kinds.items():
            how = {"sleep": task("sleep", n=chance.choice((1, 3))), "cancelled": task("sleep", n=1000000)}.get(kind) or task(kind)
            pump.send(message(name, how), *[cancel(name)] * (kind == "cancelled"))
        replies: dict[str, Element] = {}
        while len(replies) < len(kinds):
            said = pump.next()
            name = said.get("delivery")
            if said.name == "ask":
                pump.send(answer(name, said.get("id"), VIEW))
            else:
                self.assertNotIn(name, replies)
                replies[name] = only(said)
        for name, kind in kinds.items():
            expected = {"view": VIEWED, "cancelled": "called back"}.get(kind, "")
            self.assertEqual((name, replies[name].text), (name, expected))


if __name__ == "__main__":
    unittest.main()
