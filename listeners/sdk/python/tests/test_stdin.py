"""A worker as a process, over pipes: framings, replies, questions, cancels, and every way in which it ends."""
from __future__ import annotations

import hashlib
import signal
import time
import unittest

from systole_sdk.documents import CORE, LISTENER
from systole_sdk.markup import Element, read
from tests.pump import HERE, NS, PATIENCE, Pump, answer, answers, cancel, message, task


def only(reply: Element) -> Element:
    """The only thing inside a reply."""
    inside = list(reply)
    assert (reply.ns, reply.name, len(inside)) == (LISTENER, "reply", 1), reply
    return inside[0]


def error(code: str, words: str) -> str:
    return f'<system-error xmlns="{CORE}" code="{code}" retry_allowed="true" message="{words}"/>'


class Framing(unittest.TestCase):
    def test_both_framings_carry_the_same_documents(self) -> None:
        said = []
        for framing in ("lines", "length"):
            with Pump(framing=framing) as pump:
                reply = pump.ask("d1", task(text="a\nb\nc\td <&>\"' ]]> \U0001f600\u0085\u2028 "))
                self.assertEqual(only(reply).text, "a\nb\nc\td <&>\"' ]]> \U0001f600\u0085\u2028 ")
                self.assertEqual(pump.end(), 0)
                said.append(pump.raw[0].strip())
                self.assertEqual(pump.words(), "")
        self.assertEqual(said[0], said[1])

    def test_a_carriage_return_survives(self) -> None:
        with Pump() as pump:
            reply = pump.ask("d1", f'<task xmlns="{NS}" do="echo">a&#13;&#10;b</task>')
            self.assertEqual(only(reply).text, "a\r\nb")

    def test_bytes_come_one_by_one_and_documents_together(self) -> None:
        for framing in ("lines", "length"):
            with Pump(framing=framing) as pump:
                for byte in pump.frame(message("d1", task(text="äöü€"))):
                    pump.write(bytes([byte]))
                self.assertEqual(only(pump.next()).text, "äöü€")
                pump.send(*[message(f"j{number}", task(text=str(number))) for number in range(3)])
                replies = {one.get("delivery"): only(one).text for one in (pump.next() for _ in range(3))}
                self.assertEqual(replies, {"j0": "0", "j1": "1", "j2": "2"})

    def test_a_delivery_before_the_end_of_stdin_is_answered(self) -> None:
        with Pump() as pump:
            pump.send(message("d1", task("sleep", n=300, text="x")))
            self.assertEqual(pump.end(), 0)
            self.assertEqual([only(one).text for one in pump.rest()], ["x"])

    def test_print_and_stdin_belong_to_others(self) -> None:
        for framing in ("lines", "length"):
            with Pump(framing=framing) as pump:
                self.assertEqual(only(pump.ask("d1", task("print", "<reply junk"))).text, "<reply junk")
                self.assertEqual(pump.end(), 0)
                self.assertIn("<reply junk", pump.words())

    def test_a_slow_reader_gets_whole_replies(self) -> None:
        with Pump(reads=False) as pump:
            pump.send(*[message(f"d{number}", task("large", n=1 << 20)) for number in range(16)])
            pump.close()
            time.sleep(0.5)
            pump.read_all()
            replies = pump.rest()
            self.assertEqual(sorted(one.get("delivery") for one in replies), sorted(f"d{number}" for number in range(16)))
            self.assertTrue(all(only(one).text == "x" * (1 << 20) for one in replies))


class Replies(unittest.TestCase):
    def setUp(self) -> None:
        self.pump = Pump()
        self.addCleanup(self.pump.__exit__)

    def test_an_answer_shows_what_the_turn_knows(self) -> None:
        done = only(self.pump.ask("d7", task(text="hi"), attempt=2, key="k9"))
        self.assertEqual((done.ns, done.name, done.text), (NS, "done", "hi"))
        self.assertEqual(done.attributes, {"key": "k9", "attempt": "2", "turn": "1", "sender": "asker"})

    def test_failures_have_their_code_and_retry_only_if_they_say_so(self) -> None:
        failure = only(self.pump.ask("d1", task("fail", "no & no", code="bank.closed")))
        self.assertEqual((failure.name, failure.attributes, failure.text), ("failure", {"code": "bank.closed"}, "no & no"))
        failure = only(self.pump.ask("d2", task("fail", "later", n=1)))
        self.assertEqual(failure.attributes, {"code": "task.failed", "retry": "true"})
        again = only(self.pump.ask("d3", task("again", "once more")))
        self.assertEqual((again.name, again.attributes, again.text), ("again", {"code": "task.again"}, "once more"))

    def test_an_exception_is_a_failure_and_the_program_lives(self) -> None:
        failure = only(self.pump.ask("d1", task("throw", "bad \u0085 <luck>")))
        self.assertEqual((failure.get("code"), failure.text), ("listener.error", "RuntimeError: bad \u0085 <luck>"))
        failure = only(self.pump.ask("d2", task("bad")))
        self.assertEqual(failure.text, "Invalid: /done/text(): XML cannot carry the character U+0001")
        failure = only(self.pump.ask("d3", f'<other xmlns="{NS}"/>'))
        self.assertEqual(failure.get("code"), "listener.unknown-element")
        failure = only(self.pump.ask("d4", f'<task xmlns="{NS}" do="dance"/>'))
        self.assertEqual(failure.get("code"), "sdk.schema")
        self.assertTrue(failure.text.startswith("/task/@do: dance is none of echo, "))
        self.assertTrue(failure.text.endswith("; if the schema is newer than the class, try: systole sdk python"))
        self.assertEqual(only(self.pump.ask("d5", task(text="alive"))).text, "alive")

    def test_several_items_none_and_a_large_one(self) -> None:
        reply = self.pump.ask("d1", task("many", "end", n=3))
        self.assertEqual([(one.name, one.get("n")) for one in reply], [("remark", "0"), ("remark", "1"), ("remark", "2"), ("done", "")])
        self.assertEqual(list(self.pump.ask("d2", task("silent"))), [])
        failure = only(self.pump.ask("d3", task("large", n=9 << 20)))
        self.assertEqual(failure.get("code"), "reply.too-large")
        self.assertIn("put_blob", failure.text)
        self.assertEqual(only(self.pump.ask("d4", task(text="alive"))).text, "alive")

    def test_all_spellings_of_a_request_mean_the_same(self) -> None:
        spelled = [
            f'<a:task xmlns:a="{NS}" do="echo">a&lt;b</a:task>',
            f'<task xmlns="{NS}" do="echo"><![CDATA[a]]><!-- no --><![CDATA[<b]]></task>',
            f'<!-- c --><task new="1" xmlns="{NS}" xmlns:q="urn:q" q:new="2" do="echo">a<?pi x?>&#60;b<new xmlns="urn:q"/></task>',
        ]
        for number, one in enumerate(spelled):
            self.assertEqual(only(self.pump.ask(f"d{number}", one, meta='<trace xmlns="urn:t" id="1"/>')).text, "a<b")
        prefixed = message("d9", spelled[0]).replace("<message xmlns=", "<e:message xmlns:e=").replace("</message>", "</e:message>")
        for name in ("meta", "from", "to", "thread"):
            prefixed = prefixed.replace(f"<{name}>", f"<e:{name}>").replace(f"</{name}>", f"</e:{name}>")
        self.pump.send(prefixed)
        self.assertEqual(only(self.pump.next()).text, "a<b")
        deep = "<x>" * 60 + "</x>" * 60
        self.assertEqual(only(self.pump.ask("d10", task(text="z") .replace("z</task>", f"z{deep}</task>"))).text, "z")

    def test_documents_of_the_future_are_skipped(self) -> None:
        self.pump.send(f'<pause xmlns="{LISTENER}" delivery="d1"/>', f'<answer xmlns="{LISTENER}" id="9" delivery="gone"/>',
                       cancel("never"), message("v2", task()).replace("/envelope/v1", "/envelope/v2"), "not XML at all",
                       "<!DOCTYPE a><a/>", message("d2", task(text="on")))
        self.assertEqual(only(self.pump.next()).text, "on")
        self.assertEqual(self.pump.end(), 0)
        self.assertIn("<pause> of urn:systole:listener:v1", self.pump.words())
        self.assertIn("<message> of https://xml-pipeline.org/ns/envelope/v2", self.pump.words())
        self.assertIn("DOCTYPE", self.pump.words())


class Questions(unittest.TestCase):
    def setUp(self) -> None:
        self.pump = Pump()
        self.addCleanup(self.pump.__exit__)

    def expect(self, name: str, delivery: str) -> Element:
        """The next question about a delivery."""
        said = self.pump.next()
        self.assertEqual((said.ns, said.name, said.get("delivery")), (LISTENER, name, delivery))
        return said

    def test_words_while_it_works(self) -> None:
        self.pump.send(message("d1", task("progress", "half")))
        self.assertEqual(self.expect("progress", "d1").text, "half")
        self.assertEqual(only(self.expect("reply", "d1")).text, "half")
        self.pump.send(message("d2", task("notice", "aside", code="own.word")))
        notice = self.expect("notice", "d2")
        self.assertEqual((notice.get("code"), notice.text), ("own.word", "aside"))

    def test_a_view_of_several_pages(self) -> None:
        self.pump.send(message("d1", task("view")))
        for number in range(3):
            asked = self.expect("ask", "d1")
            view = only_child(asked)
            self.assertEqual((view.name, view.get("from-seq")), ("view", str(number * 10)))
            more = f' next="{number * 10 + 10}"' if number < 2 else ""
            self.pump.send(answer("d1", asked.get("id"), f'<view count="3"{more} mark="5f0c91aa" began="2026-11-21">'
                                  f'<message seq="{number + 1}" from="a" sort="said"><task xmlns="{NS}" do="echo">t{number}</task></message></view>'))
        done = only(self.expect("reply", "d1"))
        self.assertEqual((done.get("n"), done.text), ("3", hashlib.sha256(b"t0t1t2").hexdigest()))

    def test_a_refused_question_is_a_failure_with_its_code(self) -> None:
        self.pump.send(message("d1", task("view")))
        asked = self.expect("ask", "d1")
        self.pump.send(answer("d1", asked.get("id"), error("payload.invalid", "no such question")))
        failure = only(self.expect("reply", "d1"))
        self.assertEqual((failure.get("code"), failure.text), ("payload.invalid", "no such question"))
        self.assertEqual(only(self.pump.ask("d2", task(text="alive"))).text, "alive")

    def test_a_later_turn_reads_the_request_again(self) -> None:
        inbox = (f'<thread-finished xmlns="{CORE}" id="sess-da5910918c72.a" outcome="answered" head="{"0" * 64}"/>'
                 f'<moon-rose xmlns="{CORE}" phase="3"/>')
        said = [f'<done xmlns="{NS}" key="k" attempt="1" turn="1" sender="s">{text}</done>' for text in "ab"]
        delivered = answers(said[0], error("payload.invalid", "no"), "", said[1], inbox=inbox, more=' wrap-up="budget.messages"')
        self.pump.send(message("d1", delivered, turn=2))
        asked = self.expect("ask", "d1")
        earlier = f'<message seq="1" from="asker" sort="request">{task("echo", "earlier")}</message>'
        request = f'<message seq="4" from="asker" sort="request">{task("call", "x", n=2, code="joined:")}</message>'
        self.pump.send(answer("d1", asked.get("id"), f'<view count="2" mark="m" began="2026-11-21">{earlier}{request}</view>'))
        done = only(self.expect("reply", "d1"))
        self.assertEqual((done.text, done.get("n"), done.get("turn")), ("joined:ab", "2", "2"))

    def test_two_deliveries_get_their_own_answers(self) -> None:
        self.pump.send(message("d1", task("view")), message("d2", task("view")))
        asked = {one.get("delivery"): one.get("id") for one in (self.pump.next(), self.pump.next())}
        for delivery in ("d2", "d1"):
            request = task(text=delivery)
            self.pump.send(answer(delivery, asked[delivery], f'<view count="1" mark="m" began="2026-11-21"><message seq="1" from="a" sort="request">{request}</message></view>'))
            reply = self.pump.next()
            self.assertEqual((reply.get("delivery"), only(reply).text), (delivery, hashlib.sha256(delivery.encode()).hexdigest()))

    def test_blobs_of_text_and_of_bytes(self) -> None:
        for delivery, n, encoding in (("d1", 0, ""), ("d2", 1, "hex")):
            self.pump.send(message(delivery, task("blob", "grün", n=n)))
            put = self.expect("ask", delivery)
            inside = only_child(put)
            self.assertEqual((inside.name, inside.get("encoding")), ("put-blob", encoding))
            data = bytes.fromhex(inside.text) if encoding else inside.text.encode()
            stored = hashlib.sha256(data).hexdigest()
            self.pump.send(answer(delivery, put.get("id"), f'<blob hash="{stored}" total="{len(data)}"/>'))
            got = self.expect("ask", delivery)
            self.assertEqual((only_child(got).name, only_child(got).get("hash")), ("blob", stored))
            text = f' encoding="hex">{data.hex()}' if encoding else f">{data.decode()}"
            self.pump.send(answer(delivery, got.get("id"), f'<blob hash="{stored}" total="{len(data)}"{text}</blob>'))
            self.assertEqual(only(self.expect("reply", delivery)).text, stored)
            self.assertLess(int(put.get("id")), int(got.get("id")))

    def test_once_writes_start_and_result_and_a_later_attempt_uses_it(self) -> None:
        self.pump.send(message("d1", task("once")))
        start = self.expect("journal", "d1")
        self.assertEqual((start.get("kind"), start.get("model")), ("model-started", "charge"))
        self.pump.send(answer("d1", start.get("id")))
        result = self.expect("journal", "d1")
        self.assertEqual((result.get("kind"), result.get("of"), result.get("stop"), result.text),
                         ("model-result", start.get("id"), "end", "paid key-1"))
        self.pump.send(answer("d1", result.get("id")))
        self.assertEqual(only(self.expect("reply", "d1")).text, "paid key-1")

        kept = [f'<journal id="1" attempt="1" kind="model-started" model="charge" prompt="{start.get("prompt")}"/>',
                '<journal id="2" attempt="1" kind="model-result" of="1" stop="end">paid before</journal>']
        self.pump.send(message("d2", task("once"), attempt=2, more=' journal="2"'))
        for number in (0, 1):
            asked = self.expect("ask", "d2")
            more = ' next="5"' if number == 0 else ""
            self.pump.send(answer("d2", asked.get("id"), f"<entries{more}>{kept[number]}</entries>"))
        self.assertEqual(only(self.expect("reply", "d2")).text, "paid before")

        self.pump.send(message("d3", task("once"), attempt=2, more=' journal="1"'))
        asked = self.expect("ask", "d3")
        self.pump.send(answer("d3", asked.get("id"), f"<entries>{kept[0]}</entries>"))
        start = self.expect("journal", "d3")
        self.pump.send(answer("d3", start.get("id")))
        result = self.expect("journal", "d3")
        self.assertEqual(result.text, "paid key-1")

    def test_once_says_what_is_known_of_a_call_that_failed(self) -> None:
        self.pump.send(message("d1", task("once", code="crash")))
        self.pump.send(answer("d1", self.expect("journal", "d1").get("id")))
        failure = only(self.expect("reply", "d1"))
        self.assertEqual((failure.get("code"), failure.get("retry")), ("listener.error", "true"))
        self.pump.send(message("d2", task("once", code="refused")))
        self.pump.send(answer("d2", self.expect("journal", "d2").get("id")))
        result = self.expect("journal", "d2")
        self.assertEqual((result.get("stop")[:6], result.get("in"), result.get("out")), ("model.", "0", "0"))
        self.pump.send(answer("d2", result.get("id")))
        self.assertEqual(only(self.expect("reply", "d2")).attributes, {"code": "bank.refused"})

    def test_a_refused_start_is_not_followed_by_the_call(self) -> None:
        self.pump.send(message("d1", task("once")))
        self.pump.send(answer("d1", self.expect("journal", "d1").get("id"), error("budget.requests", "used up")))
        self.assertEqual(only(self.expect("reply", "d1")).get("code"), "budget.requests")


def only_child(element: Element) -> Element:
    [inside] = list(element)
    return inside


class Cancels(unittest.TestCase):
    def test_a_cancelled_delivery_is_let_go_and_its_neighbour_answered(self) -> None:
        with Pump() as pump:
            pump.send(message("d1", task("sleep", n=60000)), message("d2", task("sleep", "two", n=400)), cancel("d1"))
            replies = {one.get("delivery"): only(one) for one in (pump.next(), pump.next())}
            self.assertEqual((replies["d1"].get("code"), replies["d2"].text), ("listener.cancelled", "two"))
            pump.send(cancel("d2"), cancel("d1"), message("d3", task(text="three")))
            self.assertEqual(only(pump.next()).text, "three")
            self.assertEqual(pump.end(), 0)

    def test_a_question_ends_with_the_cancel(self) -> None:
        with Pump() as pump:
            pump.send(message("d1", task("view")))
            pump.next()
            pump.send(cancel("d1"))
            self.assertEqual(only(pump.next()).get("code"), "listener.cancelled")

    def test_work_that_ignores_a_cancel_is_given_up(self) -> None:
        with Pump() as pump:
            pump.send(message("d1", task("hang")), cancel("d1"), message("d2", task(text="beside")))
            self.assertEqual(only(pump.next()).text, "beside")
            self.assertEqual(only(pump.next()).get("code"), "listener.cancelled")
            self.assertEqual((pump.end(), pump.rest()), (0, []))

    def test_it_ends_when_hung_work_has_all_places(self) -> None:
        with Pump(program=HERE / "bounded.py") as pump:
            pump.send(message("d1", task("hang", "hangs")), message("d2", task(text="waits")),
                      message("d3", task("hang", "hangs")))
            self.assertEqual(only(pump.next()).text, "waits")
            pump.send(message("d4", task(text="behind")), cancel("d4"))
            failure = pump.next()
            self.assertEqual((failure.get("delivery"), only(failure).get("code")), ("d4", "listener.cancelled"))
            pump.hear(b"hangs\n", 2)
            pump.send(cancel("d1"), cancel("d3"))
            self.assertEqual(pump.process.wait(PATIENCE), 1)
            self.assertEqual({one.get("delivery") for one in pump.rest()}, {"d1", "d3"})
            self.assertIn("all 2 places", pump.words())

    def test_async_functions_are_cancelled_where_they_wait(self) -> None:
        with Pump(program=HERE / "async_worker.py") as pump:
            self.assertEqual(only(pump.ask("d1", task(text="hi"))).text, "hi")
            pump.send(message("d2", task("sleep", n=60000)), message("d3", task("sleep", "x", n=100)), cancel("d2"))
            replies = {one.get("delivery"): only(one) for one in (pump.next(), pump.next())}
            self.assertEqual((replies["d2"].get("code"), replies["d3"].text), ("listener.cancelled", "x"))
            pump.send(message("d4", task("once")))
            for _ in range(2):
                pump.send(answer("d4", pump.next().get("id")))
            self.assertEqual(only(pump.next()).text, "paid key-1")
            self.assertEqual(only(pump.ask("d5", task("throw"))).get("code"), "listener.error")
            self.assertEqual(pump.end(), 0)


class Ends(unittest.TestCase):
    def test_term_lets_work_end(self) -> None:
        with Pump() as pump:
            pump.ask("d0", task())
            pump.send(message("d1", task("sleep", "slept", n=1000)), message("d2", task("view")))
            asked = pump.next()
            pump.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            pump.send(message("d3", task(text="not taken")))
            pump.send(answer("d2", asked.get("id"), '<view count="0" mark="m" began="2026-11-21"/>'))
            self.assertEqual(pump.process.wait(PATIENCE), 0)
            self.assertEqual([one.get("delivery") for one in pump.rest()], ["d2", "d1"])

    def test_a_second_term_ends_it(self) -> None:
        with Pump() as pump:
            pump.send(message("d1", task("hang")))
            pump.ask("d0", task())
            pump.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            pump.process.send_signal(signal.SIGTERM)
            self.assertEqual(pump.process.wait(PATIENCE), 1)
            self.assertNotIn("open", pump.words())

    def test_hung_work_does_not_outlive_stdin(self) -> None:
        with Pump() as pump:
            pump.send(message("d1", task("hang")), message("d2", task("view")))
            pump.next()
            pump.close()
            self.assertEqual(only(pump.next()).get("code"), "listener.no-pump")
            self.assertEqual(pump.process.wait(PATIENCE), 1)
            self.assertIn("1 deliveries open", pump.words())

    def test_sixteen_at_once(self) -> None:
        with Pump() as pump:
            sixteen = [task("hang"), task("throw"), task("sleep", n=60000), *[task("sleep", str(n), n=200) for n in range(13)]]
            pump.send(*[message(f"d{number}", one) for number, one in enumerate(sixteen)], cancel("d2"), cancel("d0"))
            replies = {one.get("delivery"): only(one) for one in (pump.next() for _ in range(16))}
            self.assertEqual([replies[f"d{n + 3}"].text for n in range(13)], [str(n) for n in range(13)])
            self.assertEqual([replies[name].get("code") for name in ("d0", "d1", "d2")],
                             ["listener.cancelled", "listener.error", "listener.cancelled"])
            self.assertEqual(only(pump.ask("d99", task(text="alive"))).text, "alive")


if __name__ == "__main__":
    unittest.main()
