"""One file of functions over lines, lengths and NATS: the same logs, and sixteen deliveries at once of which three go wrong."""
from __future__ import annotations

import json
import re
import unittest
from typing import Any

from systole_sdk import Client, Unanswered
from tests.broker import SERVER
from tests.living import PROGRAM, Living, wait_until
from tests.payloads.conform import Done, Task

CARRIERS = ["lines", "length", *(["nats"] if SERVER else [])]
PEERS = {"turns": 3, "peers": ["worker"]}
TASKS = [
    Task(text="plain"), Task(text=" a\r\n\tb <&>\"' \U0001f600\u0085\u2028 "), Task(), Task(do="many", n=3, text="several"),
    Task(do="fail", code="bank.closed", text="no & no"), Task(do="throw", text="bad luck"), Task(do="again", text="once more"),
    Task(do="notice", code="own.word", text="aside"), Task(do="progress", text="half"), Task(do="view", text="seen"),
    Task(do="blob", text="grün"), Task(do="blob", n=1, text="bytes"), Task(do="once", text="paid"), Task(do="once", code="refused", text="unpaid"),
    Task(do="call", n=1, text="asked"), Task(do="large", n=100_000, text="large"), Task(do="bad", text="bad"), Task(do="silent", text="silent"),
]
OWN = ("id", "cause", "head", "time", "config", "thread", "position", "origin")  # Differ from run to run.


@unittest.skipUnless(PROGRAM, "no systole on PATH")
class Carriers(unittest.TestCase):
    def test_one_file_leaves_the_same_log_over_each_carrier(self) -> None:
        logs = {carrier: self.play_undisturbed(carrier) for carrier in CARRIERS}
        self.assertGreater(len(logs["lines"]), 3 * len(TASKS))
        for carrier in CARRIERS:
            self.assertEqual(logs[carrier], logs["lines"], carrier)

    def play_undisturbed(self, carrier: str) -> list[dict[str, Any]]:
        """Plays again if the machine was so busy that the pump took an attempt for lost."""
        for _ in range(3):
            log = self.play(carrier)
            lost = [one["body"] for one in log if "<attempt " in one["body"] and '"listener.lost"' in one["body"]]
            if not lost:
                break
            print(carrier, *lost)
        return log

    def play(self, carrier: str) -> list[dict[str, Any]]:
        """Sends one task after another; the records, without what differs from run to run."""
        with Living(carrier, keys=PEERS) as living:
            for number, one in enumerate(TASKS):
                sent = living.client.send(one, key=f"task-{number}")
                wait_until(lambda: is_over(living.client, sent.thread))
            records = read_log(living)
        self.assert_unrefused(records)
        names: dict[str, str] = {}
        kept = []
        for record in records:
            if record["thread"] == "sys":
                continue
            names.setdefault(record["thread"], f"thread-{len(names)}")
            own = {name: value for name, value in record.items() if name not in OWN}
            text = json.dumps({**own, "of": record["thread"]}, sort_keys=True)
            kept.append(json.loads(re.sub(r"sess-[0-9a-f]{12}", lambda found: names.get(found[0], found[0]), text)))
        return kept

    def assert_unrefused(self, records: list[dict[str, Any]]) -> None:
        """No record says that the pump refused what the worker sent."""
        self.assertEqual([record for record in records if record["thread"] == "sys" and "<system-error" in record["body"]], [])
        self.assertEqual([record["body"] for record in records if record["code"] in ("reply.stale-lease", "bus.violation")], [])

    def test_of_sixteen_at_once_one_hangs_one_throws_one_is_cancelled(self) -> None:
        for carrier in CARRIERS:
            with self.subTest(carrier), Living(carrier, keys=PEERS) as living:
                client = living.client
                hung, called_back = client.send(Task(do="hang")), client.send(Task(do="sleep", n=60000))
                thrown = client.send(Task(do="throw", text="bad luck"))
                others = [client.send(Task(do="sleep", n=300, text=str(number))) for number in range(13)]
                client.cancel_thread(called_back.thread)
                self.assertEqual([client.wait(one, returns=Done).text for one in others], [str(number) for number in range(13)])
                with self.assertRaises(Unanswered) as caught:
                    client.wait(thrown, returns=Done)
                self.assertIn("worker: listener.error: RuntimeError: bad luck", str(caught.exception))
                self.assertEqual(client.ask(Task(text="alive"), returns=Done).text, "alive")
                self.assertEqual(client.thread(hung.thread)["state"], "working")
                client.cancel_thread(hung.thread)
                self.assertEqual(client.ask(Task(text="alive"), returns=Done).text, "alive")
                records = read_log(living)
                self.assert_unrefused(records)
                self.assertEqual(sum("<listener-left" in record["body"] for record in records), 0)
                if carrier == "nats":
                    self.assertEqual(client.workers()["workers"], {"worker": 1})
                    said = (living.folder / "worker0.txt").read_text()
                    self.assertNotRegex(said, "Permissions Violation|refused|broker:")


def read_log(living: Living) -> list[dict[str, Any]]:
    """All records."""
    said = living.call("log", "--json", "-n", "0", "--log", living.log)
    return [json.loads(line) for line in said.split("\n") if line]


def is_over(client: Client, thread: str) -> bool:
    """Whether a thread has ended."""
    return client.thread(thread)["state"] not in ("working", "waiting")


if __name__ == "__main__":
    unittest.main()
