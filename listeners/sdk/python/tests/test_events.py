"""The client follows the log through cuts and restarts, and decides only what was read.

`SYSTOLE_CASES` sets the number of cuts; a tenth as many restarts come with them.
"""
from __future__ import annotations

import asyncio
import random
import signal
import threading
import unittest
from pathlib import Path
from typing import Any, Callable, cast

from systole_sdk import AsyncClient, Client, Problem
from systole_sdk.bodies import Approval
from tests.cutting import Cutting
from tests.living import PROGRAM, SCHEMA, Living, count_cases, wait_until
from tests.payloads.conform import Done, Task
from tests.pump import PATIENCE


@unittest.skipUnless(PROGRAM, "no systole on PATH")
class Events(unittest.TestCase):
    def test_each_record_comes_once_and_in_order_through_cuts_and_restarts(self) -> None:
        cuts = count_cases(20)
        restarts = max(2, cuts // 10)
        with Living("lines") as living:
            shown = living.folder / "cut.db.run"
            proxy = Cutting(Path(living.log + ".run"), shown)
            self.addCleanup(proxy.close)
            proxy.show()
            seen: list[Any] = []
            seen_async: list[Any] = []

            def follow() -> None:
                for event in Client(log=str(shown.with_suffix(""))).events(0):
                    seen.append(event)

            async def follow_async() -> None:
                async for event in AsyncClient(log=str(shown.with_suffix(""))).events(0):
                    seen_async.append(event)

            threading.Thread(target=follow, daemon=True).start()
            threading.Thread(target=lambda: asyncio.run(follow_async()), daemon=True).start()
            for number in range(cuts):
                proxy.cut_after(random.randint(1, 6000))
                while proxy.cuts <= number:
                    self.assertEqual(living.client.ask(Task(text=str(number)), returns=Done).text, str(number))
                if (number + 1) % (cuts // restarts) == 0:
                    self.restart(living, signal.SIGKILL if number % 2 else signal.SIGTERM)
                    proxy.show()
            last = living.client.status()["position"]
            for one in (seen, seen_async):
                wait_until(lambda: len(one) >= last, "a follower does not come to the end")
            for one in (seen, seen_async):
                self.assertEqual([event["position"] for event in one], list(range(1, len(one) + 1)))
            direct = [event for _, event in zip(range(last), living.client.events(0))]
            self.assertEqual((seen[:last], seen_async[:last]), (direct, direct))

    def restart(self, living: Living, number: signal.Signals) -> None:
        assert living.process
        before = Path(living.log + ".run").read_text()
        living.process.send_signal(number)
        living.process.wait(PATIENCE)
        living.start()
        wait_until(lambda: Path(living.log + ".run").exists() and Path(living.log + ".run").read_text() not in ("", before))
        wait_until(lambda: living.client.status())


    def test_patience_begins_with_a_cut_however_long_the_answer_was_waited_for(self) -> None:
        with Living("lines") as living:
            shown = living.folder / "cut.db.run"
            proxy = Cutting(Path(living.log + ".run"), shown)
            self.addCleanup(proxy.close)
            proxy.show()
            client = Client(log=str(shown.with_suffix("")), patience=1)
            for seconds in (2, 4):
                threading.Timer(seconds, proxy.cut).start()
            self.assertEqual(client.ask(Task(do="sleep", n=6000, text="long"), returns=Done).text, "long")


@unittest.skipUnless(PROGRAM, "no systole on PATH")
class Decisions(unittest.TestCase):
    def test_a_payload_that_changed_after_it_was_read_is_not_approved(self) -> None:
        dangerous = SCHEMA.replace('<xs:element name="task">', '<xs:element name="task" systole:dangerous="true" '
                                   'xmlns:systole="urn:systole:schema:v1">')
        with Living("lines", schema=dangerous) as living:
            sent = [living.client.send(Task(text=text)) for text in ("ten", "ten thousand")]
            wait_until(lambda: len(living.client.approvals()["approvals"]) == 2)
            read, other = living.client.approvals()["approvals"]
            assert read["kind"] == "approval" and other["kind"] == "approval"
            self.assertIn(">ten<", read["payload"])
            changed = cast(Approval, {**other, "hash": read["hash"]})
            decisions: list[Callable[[], object]] = [
                lambda: living.client.approve(changed), lambda: living.client.reject(changed, "no"),
                lambda: living.client.amend(changed, Task(text="one"))]
            for decide in decisions:
                with self.assertRaises(Problem) as caught:
                    decide()
                self.assertEqual(caught.exception.code, "approval.mismatch")
            living.client.approve(read)
            self.assertEqual(living.client.wait(sent[0], returns=Done).text, "ten")
            self.assertEqual([one["id"] for one in living.client.approvals()["approvals"]], [other["id"]])
            living.client.amend(other, Task(text="one"))
            self.assertEqual(living.client.wait(sent[1], returns=Done).text, "one")


if __name__ == "__main__":
    unittest.main()
