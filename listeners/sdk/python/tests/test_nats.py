"""A worker as a process, over a real NATS server: pulls, renewals, receipts, cancels, and broken connections."""
from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import unittest
from typing import Awaitable, Callable

from systole_sdk.documents import CORE
from tests.broker import SERVER, Broker, Pump, name_delivery, receipt
from tests.pump import HERE, answer, environment, task


def number_of(document: bytes) -> str:
    return document.split(b' id="', 1)[1].split(b'"', 1)[0].decode()


@unittest.skipUnless(SERVER, "no nats-server on PATH")
class OverNats(unittest.TestCase):
    def setUp(self) -> None:
        self.broker = Broker()
        self.broker.start()
        self.addCleanup(self.broker.remove)

    def play(self, scene: Callable[[Pump], Awaitable[None]]) -> None:
        """Runs a scene with a pump."""
        async def run() -> None:
            async with Pump(self.broker) as pump:
                await scene(pump)
        asyncio.run(run())

    def test_a_delivery_is_renewed_answered_and_acknowledged_after_its_receipt(self) -> None:
        async def scene(pump: Pump) -> None:
            withheld = [True]
            pump.answer = lambda document: None if withheld[0] else receipt(name_delivery(document))
            pump.start()
            await pump.send("d1", task("sleep", "slept", n=2500))
            await pump.wait(lambda: bool(pump.replies))
            self.assertGreaterEqual(pump.count_words(b"+WPI"), 2)
            self.assertEqual(pump.count_words(b"+ACK"), 0)
            await pump.wait(lambda: len(pump.replies) >= 2)
            self.assertEqual(pump.count_words(b"+ACK"), 0)
            withheld[0] = False
            await pump.wait(lambda: pump.count_words(b"+ACK") == 1)
            self.assertEqual(len(set(pump.replies)), 1)
            self.assertIn(b">slept</done>", pump.replies[0])
        self.play(scene)

    def test_a_refusal_is_told_and_not_sent_again(self) -> None:
        error = f'<system-error xmlns="{CORE}" code="reply.stale-lease" retry_allowed="false" message="over"/>'
        said = {"d1": receipt("d1", error), "d2": receipt("d2", f'<refused ordinal="1">{error}</refused>'),
                "d3": receipt("d3", more=' outcome="superseded"')}

        async def scene(pump: Pump) -> None:
            pump.answer = lambda document: said.get(name_delivery(document), receipt(name_delivery(document)))
            pump.start(SYSTOLE_SLOTS="1")
            for delivery in ("d1", "d2", "d3", "d4"):
                await pump.send(delivery, task(text=delivery))
            await pump.wait(lambda: pump.count_words(b"+ACK") == 4)
            self.assertEqual([name_delivery(one) for one in pump.replies], ["d1", "d2", "d3", "d4"])
            assert pump.worker
            pump.worker.send_signal(signal.SIGTERM)
            code, words = await pump.end()
            self.assertEqual(code, 0)
            self.assertEqual(words.splitlines(), [
                "systole_sdk: refused: delivery d1: reply.stale-lease: over",
                "systole_sdk: refused: item 1 of delivery d2: reply.stale-lease: over",
                "systole_sdk: refused: delivery d3: reply.superseded: another reply to the delivery was taken before"])
        self.play(scene)

    def test_progress_notices_and_questions(self) -> None:
        async def scene(pump: Pump) -> None:
            def reply(document: bytes) -> str:
                delivery = name_delivery(document)
                if document.startswith(b"<ask"):
                    return answer(delivery, number_of(document), '<view count="0" mark="m" began="2026-11-21"/>')
                return answer(delivery, number_of(document)) if document.startswith(b"<journal") else receipt(delivery)
            pump.answer = reply
            pump.start()
            await pump.send("d1", task("progress", "half"))
            await pump.wait(lambda: any(subject == "o.hello.live.worker" for subject, _ in pump.words))
            await pump.wait(lambda: len(pump.replies) == 1)
            await pump.send("d2", task("notice", "aside"))
            await pump.wait(lambda: len(pump.replies) == 3)
            await pump.send("d3", task("once"))
            await pump.wait(lambda: len(pump.replies) == 6)
            await pump.send("d4", task("view"))
            await pump.wait(lambda: len(pump.replies) == 8)
            starts = [one.split(b" ", 1)[0] for one in pump.replies]
            self.assertEqual(starts, [b"<reply", b"<notice", b"<reply", b"<journal", b"<journal", b"<reply", b"<ask", b"<reply"])
        self.play(scene)

    def test_a_cancel_frees_the_slot_and_sends_nothing(self) -> None:
        async def scene(pump: Pump) -> None:
            pump.start(SYSTOLE_SLOTS="1")
            await pump.send("d1", task("sleep", n=60000))
            await pump.wait(lambda: pump.count_words(b"+WPI") >= 1)
            await pump.client.publish("o.hello.cancel.worker", b'<cancel xmlns="urn:systole:listener:v1" delivery="d1"/>')
            await pump.send("d2", task(text="next"))
            await pump.wait(lambda: bool(pump.replies))
            self.assertEqual([name_delivery(one) for one in pump.replies], ["d2"])
            before = pump.count_words(b"+WPI")
            await asyncio.sleep(2.5)
            self.assertEqual(pump.count_words(b"+WPI"), before)
        self.play(scene)

    def test_hung_work_in_all_slots_ends_it(self) -> None:
        async def scene(pump: Pump) -> None:
            pump.start(SYSTOLE_SLOTS="1")
            await pump.send("d1", task("hang"))
            await pump.wait(lambda: pump.count_words(b"+WPI") >= 1)
            await pump.client.publish("o.hello.cancel.worker", b'<cancel xmlns="urn:systole:listener:v1" delivery="d1"/>')
            code, words = await pump.end()
            self.assertEqual((code, pump.replies), (1, []))
            self.assertIn("all 1 places", words)
        self.play(scene)

    def test_term_does_not_wait_for_hung_work_that_was_called_back(self) -> None:
        async def scene(pump: Pump) -> None:
            pump.start(SYSTOLE_TEST_GRACE="20")
            await pump.send("d1", task("hang"))
            await pump.wait(lambda: pump.count_words(b"+WPI") >= 1)
            await pump.client.publish("o.hello.cancel.worker", b'<cancel xmlns="urn:systole:listener:v1" delivery="d1"/>')
            await pump.send("d2", task(text="beside"))
            await pump.wait(lambda: bool(pump.replies))
            assert pump.worker
            pump.worker.send_signal(signal.SIGTERM)
            self.assertEqual(await pump.end(), (0, ""))
        self.play(scene)

    def test_one_delivery_by_two_messages_is_worked_on_once(self) -> None:
        async def scene(pump: Pump) -> None:
            pump.start()
            await pump.send("d1", task("sleep", "x", n=1000))
            await pump.send("d1", task("sleep", "x", n=1000))
            await pump.wait(lambda: pump.count_words(b"+ACK") == 2)
            self.assertEqual((len(pump.replies), len(set(pump.replies))), (2, 1))
            self.assertEqual(len({subject for subject, data in pump.words if data == b"+ACK"}), 2)
        self.play(scene)

    def test_a_reply_that_the_broker_does_not_take_is_a_failure(self) -> None:
        async def scene(pump: Pump) -> None:
            pump.start()
            await pump.send("d1", task("large", n=2 << 20))
            await pump.wait(lambda: bool(pump.replies))
            self.assertIn(b'<failure code="reply.too-large"', pump.replies[0])
            await pump.send("d2", task(text="x" * 900_000))
            await pump.wait(lambda: len(pump.replies) == 2)
            self.assertIn(b">" + b"x" * 900_000 + b"</done>", pump.replies[1])
        self.play(scene)

    def test_the_broker_restarts_in_work_and_while_idle(self) -> None:
        async def scene(pump: Pump) -> None:
            pump.start()
            await pump.send("d1", task("sleep", "slept", n=2500))
            await pump.wait(lambda: pump.count_words(b"+WPI") >= 1)
            self.broker.stop()
            await asyncio.sleep(4)
            self.broker.start()
            await pump.wait(lambda: bool(pump.replies))
            await pump.wait(lambda: pump.count_words(b"+ACK") >= 1)
            self.assertEqual(len(set(pump.replies)), 1)
            self.broker.stop()
            await asyncio.sleep(1)
            self.broker.start()
            await pump.wait(lambda: pump.client.is_connected)
            await pump.send("d2", task(text="after"))
            await pump.wait(lambda: name_delivery(pump.replies[-1]) == "d2")
        self.play(scene)

    def test_it_waits_for_a_broker_that_comes_later(self) -> None:
        self.broker.stop()
        worker = subprocess.Popen([sys.executable, str(HERE / "worker.py")], env=environment(SYSTOLE_NATS=self.broker.url),
                                  stderr=subprocess.PIPE, start_new_session=True)
        async def scene(pump: Pump) -> None:
            pump.worker = worker
            await pump.send("d1", task(text="hello"))
            await pump.wait(lambda: bool(pump.replies))
        self.broker.start()
        self.play(scene)

    def test_term_finishes_work_and_pulls(self) -> None:
        async def scene(pump: Pump) -> None:
            pump.start()
            await pump.send("d1", task("sleep", "slept", n=1500))
            await pump.wait(lambda: pump.count_words(b"+WPI") >= 1)
            assert pump.worker
            pump.worker.send_signal(signal.SIGTERM)
            await asyncio.sleep(0.3)
            await pump.send("d2", task(text="to the pull that was on its way"))
            code, words = await pump.end()
            self.assertEqual((code, words), (0, ""))
            self.assertEqual([name_delivery(one) for one in pump.replies], ["d2", "d1"])
        self.play(scene)

    def test_term_while_the_broker_is_away_ends_and_says_what_is_open(self) -> None:
        async def scene(pump: Pump) -> None:
            pump.start(SYSTOLE_TEST_GRACE="2")
            await pump.send("d1", task("sleep", n=1800))
            await pump.wait(lambda: pump.count_words(b"+WPI") >= 1)
            self.broker.stop()
            assert pump.worker
            pump.worker.send_signal(signal.SIGTERM)
            code, words = await pump.end()
            self.assertEqual(code, 1)
            self.assertIn("open deliveries: d1", words)
        self.play(scene)

    def test_lookups_are_answered(self) -> None:
        async def scene(pump: Pump) -> None:
            pump.start()
            await pump.send("d1", task("throw"))
            await pump.wait(lambda: pump.count_words(b"+ACK") == 1)
            said = {}
            for kind in ("PING", "INFO", "STATS"):
                for subject in (f"$SRV.{kind}", f"$SRV.{kind}.worker"):
                    said[kind] = json.loads((await pump.client.request(subject, b"", timeout=5)).data)
                    self.assertEqual((said[kind]["type"], said[kind]["name"]), (f"io.nats.micro.v1.{kind.lower()}_response", "worker"))
            self.assertEqual(said["PING"]["metadata"], {"organism": "hello", "accepts": "task"})
            self.assertEqual(said["STATS"]["endpoints"][0]["num_requests"], 1)
            self.assertEqual(said["STATS"]["endpoints"][0]["num_errors"], 1)
        self.play(scene)

    def test_another_protocol_is_not_answered(self) -> None:
        async def scene(pump: Pump) -> None:
            pump.start()
            await pump.send("d1", task(), {"Systole-Protocol": "2"})
            code, words = await pump.end()
            self.assertEqual((code, pump.replies), (2, []))
            self.assertIn("speaks protocol 2, systole-sdk 0.1 speaks 1", words)
        self.play(scene)


if __name__ == "__main__":
    unittest.main()
