"""A trial: functions without an organism, through the bytes that they would read and write."""
from __future__ import annotations


import contextlib
import io
import time
import unittest

from systole_sdk import Again, Element, Fail, Refused, To, Turn
from systole_sdk.markup import escape
from systole_sdk.testing import Trial
from tests import worker
from tests.payloads.conform import Done, Task

CALLS: list[str] = []


def pay(request: Task, turn: Turn) -> Done:
    def charge() -> str:
        CALLS.append(turn.key)
        if request.code == "crash" and len(CALLS) == 1:
            raise OSError("the line broke")
        if request.code == "refused":
            raise Fail("bank.refused", "no")
        return f"paid {len(CALLS)}"
    said = turn.once("charge", request, charge)
    if request.code == "late" and turn.attempt == 1:
        raise OSError("after it was paid")
    return done(turn, said)


def ask_peers(request: Task, turn: Turn) -> list[To] | Done:
    if turn.number == 1:
        return [To("left", Task(text="a")), To("right", Task(text="b"))]
    seen = [f"{one.sort}:{one.seq}" for one in turn.view().messages]
    said = [one.refusal.code if one.refusal else getattr(one.payload, "text", "-") for one in turn.answers]
    inside = [one.name if isinstance(one, Element) else type(one).__name__ for one in turn.inbox]
    return done(turn, f"{request.text} {said} {inside} {seen}")


def wait(request: Task, turn: Turn) -> Done:
    while not turn.cancelled and request.do != "sleep":
        time.sleep(0.01)
    turn.sleep(60)
    return done(turn, "never")


def again(request: Task) -> Done:
    raise Again("own.again", request.text)


def done(turn: Turn, text: str) -> Done:
    return Done(key=turn.key, attempt=turn.attempt, turn=turn.number, sender=turn.sender, text=text)


class Trials(unittest.TestCase):
    def setUp(self) -> None:
        CALLS.clear()

    def test_a_reply_and_what_was_said_on_the_way(self) -> None:
        trial = Trial(worker.work)
        self.assertEqual(trial.send(Task(text="a\n<b>")).payload, Done(key="trial:2:1", attempt=1, turn=1, sender="trial", text="a\n<b>"))
        trial.send(Task(do="progress", text="half"))
        trial.send(Task(do="notice", text="aside", code="own.word"))
        self.assertEqual((trial.progress, trial.notices), (["half"], [("own.word", "aside")]))
        stored = trial.send(Task(do="blob", n=1)).payload
        assert isinstance(stored, Done)
        self.assertEqual(trial.blobs[stored.text], bytes(range(256)))

    def test_failures_and_again(self) -> None:
        reply = Trial(worker.work).send(Task(do="fail", text="no", code="a.b", n=1))
        assert reply.failure
        self.assertEqual((reply.failure.code, reply.failure.words, reply.failure.retry), ("a.b", "no", True))
        with self.assertRaises(AssertionError) as caught:
            _ = reply.payload
        self.assertIn("a.b: no", str(caught.exception))
        self.assertEqual(Trial(again).send(Task(text="x")).again, "x")

    def test_text_that_xml_cannot_carry_is_a_failure_that_says_so(self) -> None:
        def fail(request: Task) -> Done:
            raise Fail("own.code", request.code or "") from None

        def speak(request: Task, turn: Turn) -> Done:
            turn.progress("half a pair: \ud83d")
            return done(turn, "never")

        def keep(request: Task, turn: Turn) -> Done:
            return done(turn, turn.once("charge", request, lambda: "paid\x01"))

        def leave(request: Task) -> Done:
            raise RuntimeError("bad \ud83d luck")

        with contextlib.redirect_stderr(io.StringIO()):
            said = [str(Trial(one).send(Task(code="no")).failure) for one in (fail, speak, keep, leave)]
        self.assertEqual(said, ["own.code: no", "listener.error: ValueError: XML cannot carry the character U+D83D",
                                "listener.error: ValueError: XML cannot carry the character U+0001",
                                "listener.error: RuntimeError: bad \ufffd luck"])

    def test_several_turns(self) -> None:
        trial = Trial(ask_peers)
        self.assertEqual(trial.send(Task(text="start")).items, [To("left", Task(text="a")), To("right", Task(text="b"))])
        rose = Element("moon-rose", "https://xml-pipeline.org/ns/core/v1")
        reply = trial.inbox(rose).answers(done_of("one"), Refused("payload.invalid", "no"), None)
        assert isinstance(reply.payload, Done)
        self.assertEqual(reply.payload.text, "start ['one', 'payload.invalid', '-'] ['moon-rose'] "
                                             "['request:1', 'said:2', 'said:3', 'answer:4', 'answer:5', 'inbox:6']")

    def test_once_keeps_a_text_in_documents_that_fit_once_they_are_escaped(self) -> None:
        for text in (("x" * 20 + "\n") * 43000, "&" * 1000000, "\U0001f600" * 300000, "x" * 900000):
            def keep(request: Task, turn: Turn) -> Done:
                return done(turn, str(len(turn.once("charge", request, lambda: text))))
            trial = Trial(keep)
            said = trial.send(Task()).payload
            assert isinstance(said, Done)
            self.assertEqual(said.text, str(len(text)))
            [_, result] = trial.journal
            stored = [trial.blobs[name].decode() for name in result.get("blobs").split()]
            self.assertEqual("".join(stored) or result.text, text)
            for part in [*stored, result.text]:
                self.assertLessEqual(len(escape(part).encode()), 900 << 10)

    def test_once_over_crashes(self) -> None:
        trial = Trial(pay)
        with contextlib.redirect_stderr(io.StringIO()):
            first = trial.send(Task(code="late"))
        assert first.failure
        self.assertEqual([one.get("kind") for one in trial.journal], ["model-started", "model-result"])
        second = trial.crash().payload
        assert isinstance(second, Done)
        self.assertEqual((second.text, second.attempt, CALLS), ("paid 1", 2, ["trial:2:1"]))

        CALLS.clear()
        broken = trial.send(Task(code="crash"))
        assert broken.failure
        self.assertTrue(broken.failure.retry)
        third = trial.crash().payload
        assert isinstance(third, Done)
        self.assertEqual((third.text, CALLS), ("paid 2", ["trial:3:1"] * 2))

        CALLS.clear()
        refused = trial.send(Task(code="refused"))
        assert refused.failure
        self.assertEqual((refused.failure.code, [one.get("stop") for one in trial.journal]), ("bank.refused", ["", "model.failed"]))
        trial.crash()
        self.assertEqual(len(CALLS), 2)

    def test_a_cancel(self) -> None:
        for request in (Task(do="sleep"), Task(do="echo")):
            reply = Trial(wait).cancel().send(request)
            assert reply.failure
            self.assertEqual(reply.failure.code, "listener.cancelled")


def done_of(text: str) -> Done:
    return Done(key="k", attempt=1, turn=1, sender="s", text=text)


if __name__ == "__main__":
    unittest.main()
