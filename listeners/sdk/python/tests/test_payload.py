"""Payload classes: every form of content there and back, facets, bad XML, and what a listener must never lose."""
from __future__ import annotations

import contextlib
import io
import math
import unittest
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from systole_sdk import Element, File, Invalid, Malformed
from systole_sdk.markup import read as read_markup
from systole_sdk.payload import Payload, bind, find_files, read, write
from systole_sdk.values import Date, DateTime, Duration, Simple, Time
from tests.payloads.every import Every, Local, Mixed, MixedName, Order, OrderLine

NS = "https://xml-pipeline.org/ns/every/v1"
PNG = b"\x89PNG\r\n\x1a\n"


def every(**more: Any) -> Every:
    return Every(**{"unit": "celsius", "limit": 5, "price": Decimal("12.50"), **more})


class ThereAndBack(unittest.TestCase):
    def test_every_type_and_form(self) -> None:
        for payload in (
            every(), every(scale=3, class_="x", ratio=1.5e300, is_open=True, raw=b"\0\xff", hex=b"\xab", day=Date("2026-01-31")),
            every(moment=DateTime("2026-01-31T12:00:00Z"), at=Time("12:00:00"), stretch=Duration("PT30S"), code="AB-123456"),
            every(secret=" a\tb\nc\r ", words=(1, -2), size="auto", note="x"), every(size=7, words=(), plain="\u0085\u2028\ufffd"),
            every(ratio=math.inf, price=Decimal("-0.10")), Local(city="Rome"), Order(tags=(), line=()),
            Order(tags=("a", "b"), line=(OrderLine(quantity=1, sku="x"),) * 2, photo=File(PNG, name="door.png"),
                  free=Element("free", NS, {"{urn:a}b": "\"'\t\n<"}, ["a", Element("q", "", {}, [" "]), "b"]), rest=(Element("z", "urn:z"),)),
            Mixed(items=(OrderLine(quantity=1, sku="x"), MixedName(text="t"), OrderLine(quantity=2, sku="y"))),
        ):
            document = write(payload)
            self.assertNotIn("\n", document)
            with contextlib.redirect_stderr(io.StringIO()):
                again = read(type(payload), document.encode())
            if isinstance(payload, Every):  # What is missing has its default.
                payload = replace(payload, scale=payload.scale or 3, note=payload.note or "none")
            self.assertEqual(again, payload)

    def test_reading_knows_white_space_defaults_and_other_spellings(self) -> None:
        got = read(Every, f'<every xmlns="{NS}" unit="celsius"><limit> +07\n</limit><price>1.</price><is-open>1</is-open>'
                          "<size> auto </size></every>")
        self.assertEqual((got.limit, got.price, got.is_open, got.note, got.size, got.scale), (7, Decimal(1), True, "none", "auto", 3))

    def test_lists_become_tuples_and_sensitive_values_are_not_shown(self) -> None:
        self.assertEqual(Order(tags=["a"]).tags, ("a",))  # type: ignore[arg-type]
        self.assertNotIn("s3cret", repr(every(secret="s3cret")))
        with self.assertRaises(Invalid) as caught:
            every(secret="s3cret\x01")
        self.assertNotIn("s3cret", str(caught.exception))

    def test_a_namespace_may_hold_any_sign(self) -> None:
        got = read_markup('<a xmlns="urn:a" xmlns:z="a b" z:c="1" d="2"><z:e/></a>')
        self.assertEqual(got, Element("a", "urn:a", {"{a b}c": "1", "d": "2"}, [Element("e", "a b")]))
        self.assertEqual(read_markup(write(got)), got)

    def test_names_are_those_of_xml(self) -> None:
        for name in ("हिन्दी", "a·b", "_é.1-", "名", "Ω"):
            got = read_markup(f'<{name} {name}="1" xmlns:z="urn:{{a}}" z:{name}="2"/>')
            self.assertEqual(read_markup(write(got)), got)
            self.assertEqual(got, Element(name, "", {name: "1", f"{{urn:{{a}}}}{name}": "2"}))
        for name in ("ª", "a b", "1a", "-a", "a:b", "a\u00d7", "", "a\n", "²"):
            for wrong in (Element(name), Element("a", "", {name: "1"})):
                with self.assertRaises(ValueError):
                    write(wrong)
        for name in ("xmlns", "{http://www.w3.org/2000/xmlns/}a", "{urn:a", "{urn:a}xmlns:b"):
            with self.assertRaises(ValueError):
                write(Element("a", "urn:a", {name: "urn:b"}))

    def test_text_that_is_no_base64_stays_text_in_a_union(self) -> None:
        types: list[Simple] = []
        types += [Simple(one, types) for one in ({"base": "base64Binary"}, {"base": "string"}, {"base": "int"}, {"union": [0, 1]}, {"union": [0, 2]})]
        for text, value in (("ab#cd", "ab#cd"), ("YW#Jj", "YW#Jj"), ("YWJj", b"abc"), (" YW Jj\n", b"abc"), ("YQ==", b"a"), ("YR==", "YR=="), ("", b"")):
            self.assertEqual(types[3].read(text), value)
        self.assertEqual(types[3].write(types[3].read("ab#cd")), "ab#cd")
        self.assertEqual((types[4].read("-5"), types[4].read("YW#Jj"), types[0].read("YW#Jj")), (-5, b"abc", b"abc"))  # As the judge takes them.

    def test_files_are_found_where_they_are(self) -> None:
        order = Order(photo=File(PNG))
        self.assertEqual([one.size for one in find_files(order)], [8])
        self.assertEqual(find_files(read(Order, write(order))), [])
        with self.assertRaises(ValueError):
            File(b"no picture")


@dataclass(frozen=True, kw_only=True)
class Amount(Payload):
    """A number without facets."""

    amount: Decimal


bind({"namespace": NS, "elements": {"amount": "Amount"}, "simple": [{"base": "decimal"}], "classes": {
    "Amount": {"element": "amount", "children": [{"name": "amount", "field": "amount", "type": {"simple": 0}}]}}}, Amount)


@dataclass(frozen=True, kw_only=True)
class Hidden(Payload):
    """Sensitive fields of each form."""

    many: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    part: Amount | None = None
    file: File | None = None
    free: Element | None = None
    listed: tuple[Amount, ...] = ()


bind({"namespace": NS, "elements": {"hidden": "Hidden"}, "simple": [{"base": "string"}], "classes": {"Hidden": {"element": "hidden", "children": [
    {"name": "many", "field": "many", "type": {"simple": 0}, "min": 0, "max": 0, "sensitive": 1},
    {"name": "words", "field": "words", "type": {"items": {"type": {"simple": 0}, "min": 0, "max": 0}}, "min": 0, "sensitive": 1},
    {"name": "part", "field": "part", "type": {"class": "Amount"}, "min": 0, "sensitive": 1},
    {"name": "file", "field": "file", "type": {"file": 1}, "min": 0, "sensitive": 1},
    {"name": "free", "field": "free", "type": {"markup": 1}, "min": 0, "sensitive": 1}],
    "listed": {"field": "listed", "of": [{"name": "amount", "type": {"class": "Amount"}}], "min": 0, "max": 0, "sensitive": 1}}}}, Hidden)


class Refused(unittest.TestCase):
    def test_no_word_shows_a_sensitive_value(self) -> None:
        secret = "s3cret"
        every_wrong: tuple[dict[str, Any], ...] = (
            {"many": secret}, {"many": (secret + "\1",)}, {"words": secret}, {"words": (secret + "\1",)}, {"part": secret},
            {"file": secret}, {"free": secret}, {"listed": secret}, {"listed": (secret,)})
        for wrong in every_wrong:
            with self.assertRaises(Invalid) as caught:
                Hidden(**wrong)
            [name] = wrong
            self.assertIn(f"/hidden/{name}", str(caught.exception))
            self.assertIn("sensitive", str(caught.exception))
            self.assertNotIn("s3cret", str(caught.exception))
        with self.assertRaises(Invalid) as caught:
            read(Hidden, f'<hidden xmlns="{NS}"><part><amount>s3cret</amount></part></hidden>')
        self.assertNotIn("s3cret", str(caught.exception))

    def test_a_number_has_24_digits_at_most(self) -> None:
        for text in ("1" * 24, "0." + "1" * 24, "0" * 9 + "1", "1." + "0" * 30):
            self.assertEqual(read(Amount, write(Amount(amount=Decimal(text)))).amount, Decimal(text))
        for text in ("1" * 25, "0." + "1" * 25, "1E30", "1E-30"):
            with self.assertRaises(Invalid) as caught:
                Amount(amount=Decimal(text))
            self.assertRegex(str(caught.exception), "^/amount/amount: [0-9.]+ has more than 24 digits$")
        with self.assertRaises(Invalid):
            read(Amount, f'<amount xmlns="{NS}"><amount>{"1" * 25}</amount></amount>')

    def test_constructors_say_what_where_and_why(self) -> None:
        for more, words in (
            ({"limit": 0}, "/every/limit: 0 is less than 1"),
            ({"limit": 100}, "/every/limit: 100 is not less than 100"),
            ({"limit": True}, "/every/limit: true is no whole number"),
            ({"limit": "5"}, "/every/limit: 5 is no whole number"),
            ({"limit": None}, "/every/limit: is missing"),
            ({"scale": 1 << 31}, "/every/@scale: 2147483648 is more than 2147483647"),
            ({"price": Decimal("1.234")}, "/every/price: 1.234 has more than 2 digits after the point"),
            ({"price": Decimal("1" * 25)}, f"/every/price: {'1' * 25} has more than 6 digits"),
            ({"price": Decimal("NaN")}, "/every/price: NaN is no decimal number"),
            ({"code": "x"}, "/every/code: x does not match [A-Z]{2}-[0-9]{6}"),
            ({"words": (1, 2, 3, 4)}, "/every/words: (1, 2, 3, 4) has 4 values, more than 3"),
            ({"note": ""}, "/every/note: an empty text has 0 characters, fewer than 1"),
            ({"note": "a\x01"}, "/every/note: XML cannot carry the character U+0001"),
            ({"plain": "\ud83d"}, "/every/plain: XML cannot carry the character U+D83D"),
            ({"unit": "kelvin"}, "/every/@unit: kelvin is none of celsius, fahrenheit"),
            ({"raw": b"123456789"}, "/every/raw: b'123456789' has 9 bytes, more than 8"),
            ({"day": "tomorrow"}, "/every/day: 'tomorrow' is no Date, such as 2026-01-31"),
        ):
            with self.assertRaises(Invalid) as caught:
                every(**more)
            self.assertEqual(str(caught.exception), words)
        with self.assertRaises(Invalid) as caught:
            Order(line=(OrderLine(quantity=1, sku=""),))
        self.assertEqual(str(caught.exception), "/OrderLine/sku: an empty text has 0 characters, fewer than 1")
        with self.assertRaises(Invalid) as caught:
            Order(tags=("a", "b", "c", "d"))
        self.assertEqual(str(caught.exception), "/order/tags/item: is there 4 times, and may be 3 times at most")

    def test_reading_names_the_path(self) -> None:
        for inside, words in (
            ("<limit>5</limit>", "/every/price: is missing"),
            ("<limit>5</limit><price>x</price>", "/every/price: x is no decimal number"),
            ("<limit>5</limit><limit>5</limit><price>1</price>", "/every/limit: is there more than once"),
            ("<limit>5</limit><price>1</price><words>1 x</words>", "/every/words: x is no whole number"),
            ("<limit>5</limit><price>1</price><raw>?</raw>", None),
        ):
            document = f'<every xmlns="{NS}" unit="celsius">{inside}</every>'
            if words is None:
                read(Every, document)
                continue
            with self.assertRaises(Invalid) as caught:
                read(Every, document)
            self.assertEqual(str(caught.exception), words)
        with self.assertRaises(Invalid) as caught:
            read(Order, f'<order xmlns="{NS}"><line quantity="x"><sku>a</sku></line></order>')
        self.assertEqual(str(caught.exception), "/order/line/@quantity: x is no whole number")

    def test_xml_that_could_do_harm(self) -> None:
        for document in (b"", b"<a", b"<a>\xff</a>", b"<a>&x;</a>", b"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", b"<a/><b/>", b"<a:b/>",
                         b"<a>" * 300 + b"</a>" * 300, b"<a>\x01</a>", b"<a>&#1;</a>"):
            with self.assertRaises(Malformed):
                read_markup(document)

    def test_stale_classes_are_named(self) -> None:
        class Newer(Payload):
            pass
        with self.assertRaises(TypeError) as caught:
            bind({"namespace": "urn:old", "elements": {}, "classes": {}}, Newer)
        self.assertIn("has no class Newer", str(caught.exception))

    def test_unknown_parts_are_skipped_and_said_once(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            for _ in range(2):
                read(Local, f'<local xmlns="{NS}" new="1"><city xmlns="">Rome</city><town xmlns="">x</town></local>')
        self.assertEqual(len(said.getvalue().splitlines()), 2)


if __name__ == "__main__":
    unittest.main()
