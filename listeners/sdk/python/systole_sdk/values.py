"""Values of simple types: reading them from text, writing them, and the facets that a schema sets.

A check never refuses what the schema's own judge admits. It admits more in a few places: facets of dates, times and
durations, patterns that Python reads otherwise, and the lexical details of types that are text here.
"""
from __future__ import annotations

import re
from typing import Any, Union

from .markup import find_forbidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from decimal import Decimal

_BLANKS = re.compile("[\t\n\r ]+")
_BASE64 = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)?")
_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}
_INTEGERS: dict[str, tuple[int | None, int | None]] = {
    "integer": (None, None), "nonNegativeInteger": (0, None), "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0), "negativeInteger": (None, -1),
    **{name: (-(1 << bits - 1), (1 << bits - 1) - 1) for name, bits in _BITS.items()},
    **{"unsigned" + name.capitalize(): (0, (1 << bits) - 1) for name, bits in _BITS.items()}}
_DIGITS = 24  # The judge takes no number with more.
_ZONE = r"(Z|[+-]\d\d:\d\d)?"


class _Moment(str):
    """A date, time or duration as it is written: a text of its own type, so that it changes on no way."""

    __slots__ = ()
    _form: re.Pattern[str]

    def __new__(cls, text: str) -> _Moment:
        if not cls._form.fullmatch(text):
            raise ValueError(f"{text!r} is no {cls.__name__}, such as {cls._example}")
        return super().__new__(cls, text)

    _example = ""


class Date(_Moment):
    """A day, as `2026-01-31`."""

    __slots__ = ()
    _form = re.compile(r"-?\d{4,}-\d\d-\d\d" + _ZONE, re.ASCII)
    _example = "2026-01-31"


class Time(_Moment):
    """A time of day, as `12:00:00`."""

    __slots__ = ()
    _form = re.compile(r"\d\d:\d\d:\d\d(\.\d*)?" + _ZONE, re.ASCII)
    _example = "12:00:00Z"


class DateTime(_Moment):
    """A moment, as `2026-01-31T12:00:00Z`."""

    __slots__ = ()
    _form = re.compile(r"-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d*)?" + _ZONE, re.ASCII)
    _example = "2026-01-31T12:00:00Z"


class Duration(_Moment):
    """A stretch of time, as `PT30S`."""

    __slots__ = ()
    _form = re.compile(r"-?P[0-9YMDTHS.]+")
    _example = "PT30S"


_MOMENTS: dict[str, type[_Moment]] = {"date": Date, "time": Time, "dateTime": DateTime, "duration": Duration}
Value = Union[str, bool, int, float, "Decimal", bytes, "tuple[Any, ...]"]


class Simple:
    """One simple type. `read` takes text, `write` gives it, `check` says what is wrong with a value, or None."""

    def __init__(self, entry: dict[str, Any], others: list[Simple]) -> None:
        self.entry = entry
        self.others = others  # All simple types of the module: `list` and `union` are numbers in it.
        base: str = entry.get("base", "string")
        self.base = base
        self.space: str = entry.get("space") or {"string": "preserve", "normalizedString": "replace"}.get(base, "collapse")
        self.family = "list" if "list" in entry else "union" if "union" in entry else _family(base)
        self.patterns = [[re.compile(one) for one in step] for step in entry.get("patterns", ())]
        self.values: list[str] = entry.get("values", [])
        self.is_plain = self.family == "text" and not (set(entry) - {"base", "space"})

    def normalize(self, text: str) -> str:
        """The text with its white space as the type says."""
        if self.space == "preserve":
            return text
        if self.space == "replace":
            return re.sub("[\t\n\r]", " ", text)
        return _BLANKS.sub(" ", text).strip(" ")

    def read(self, text: str) -> Value:
        """The value that a text means; ValueError if it means none."""
        if self.family == "union":
            return self._read_member(text)
        text = self.normalize(text)
        if self.family == "list":
            return tuple([self.others[self.entry["list"]].read(word) for word in text.split(" ") if word])
        value: Value = _READERS[self.family](text, self.base)
        return value

    def _read_member(self, text: str) -> Value:
        words = ""
        loose: list[Value] = []  # The judge passes over signs that are no base64; another type keeps them.
        for number in self.entry["union"]:
            member = self.others[number]
            try:
                value: Value = member.read(text)
            except ValueError as error:
                words = str(error)
                continue
            words = member.check(value) or ""
            if not words and (member.base != "base64Binary" or _BASE64.fullmatch(_BLANKS.sub("", text))):
                return value
            loose += [] if words else [value]
        if loose:
            return loose[0]
        raise ValueError(words or f"{_show(text)} is of no type of the union")

    def write(self, value: Value) -> str:
        """The text of a value that was checked."""
        if self.family == "list":
            assert isinstance(value, tuple)
            return " ".join([self.others[self.entry["list"]].write(one) for one in value])
        if self.family == "union":
            for number in self.entry["union"]:
                member: Simple = self.others[number]
                if member.check(value) is None:
                    return member.write(value)
        return write_value(value, self.base)

    def check(self, value: object) -> str | None:
        """What is wrong with a value, in words, or None."""
        if self.family == "union":
            wrong = [self.others[number].check(value) for number in self.entry["union"]]
            return None if None in wrong else wrong[-1]
        if self.family == "list":
            if not isinstance(value, tuple):
                return f"{_show(value)} is no tuple"
            words = next((said for said in map(self.others[self.entry["list"]].check, value) if said), None)
            return words or self._check_facets(value, self.write(value))
        if self.family == "text" and isinstance(value, str):
            if not (value.isascii() and value.isprintable()) and (sign := find_forbidden(value)):
                return f"XML cannot carry the character {sign}"
            return None if self.is_plain else self._check_facets(value, self.normalize(value))
        return self._check_basic(value)

    def _check_basic(self, value: Any) -> str | None:
        kind: Any = _KINDS[self.family]
        if not isinstance(value, kind) or (isinstance(value, bool) and self.family != "bool"):
            return f"{_show(value)} is no {_NAMES[self.family]}"
        if self.family == "moment" and type(value) is not _MOMENTS[self.base]:
            try:
                _MOMENTS[self.base](self.normalize(str(value)))
            except ValueError as error:
                return str(error)
        return self._check_number(value) or self._check_facets(value, self.write(value))

    def _check_number(self, value: Any) -> str | None:
        if self.family == "decimal" and not isinstance(value, int) and not value.is_finite():
            return f"{value} is no decimal number"
        if self.family in ("decimal", "integer"):
            whole, _, fraction = write_value(value, self.base).lstrip("-").partition(".")
            digits, after = len(whole.lstrip("0")), len(fraction.rstrip("0"))
            most = self.entry.get("totalDigits", _DIGITS)
            if digits + after > min(most, _DIGITS):
                return f"{_show(value)} has more than {min(most, _DIGITS)} digits"
            if after > self.entry.get("fractionDigits", _DIGITS):
                return f"{_show(value)} has more than {self.entry['fractionDigits']} digits after the point"
        if self.family == "integer":
            least, most = _INTEGERS[self.base]
            if least is not None and value < least:
                return f"{_show(value)} is less than {least}"
            if most is not None and value > most:
                return f"{_show(value)} is more than {most}"
        if self.family in ("decimal", "integer", "float") and value == value:
            return self._check_range(value)
        return None

    def _check_range(self, value: Any) -> str | None:
        if "min" in self.entry:
            text, takes = self.entry["min"]
            bound: Any = self.read(text)
            if value < bound or (value == bound and not takes):
                return f"{_show(value)} is {'less than' if takes else 'not more than'} {text}"
        if "max" in self.entry:
            text, takes = self.entry["max"]
            bound = self.read(text)
            if value > bound or (value == bound and not takes):
                return f"{_show(value)} is {'more than' if takes else 'not less than'} {text}"
        return None

    def _check_facets(self, value: Any, text: str) -> str | None:
        entry = self.entry
        if self.values and self.family != "moment" and not self._is_listed(value, text):
            return f"{_show(value)} is none of {', '.join(self.values)}"
        size, unit = None, "characters"
        if self.family in ("list", "binary"):
            size, unit = len(value), "bytes" if self.family == "binary" else "values"
        elif self.family == "text":
            size = len(text)
        if size is not None and not self.values:
            least, most = entry.get("length", entry.get("minLength", 0)), entry.get("length", entry.get("maxLength", size))
            if size < least:
                return f"{_show(value)} has {size} {unit}, fewer than {least}"
            if size > most:
                return f"{_show(value)} has {size} {unit}, more than {most}"
        if self.family in ("text", "moment"):
            for step in self.patterns:
                if not any(one.fullmatch(text) for one in step):
                    return f"{_show(value)} does not match {' | '.join(one.pattern for one in step)}"
        return None

    def _is_listed(self, value: Any, text: str) -> bool:
        if self.family in ("text", "list"):
            return text in self.values or text in map(self.normalize, self.values)
        return value in [self.read(one) for one in self.values] or value != value


def _family(base: str) -> str:
    if base in _INTEGERS:
        return "integer"
    if base in _MOMENTS:
        return "moment"
    known = {"boolean": "bool", "decimal": "decimal", "double": "float", "float": "float",
             "base64Binary": "binary", "hexBinary": "binary"}
    return known.get(base, "text")


def _read_integer(text: str, _base: str) -> Value:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(f"{_show(text)} is no whole number")
    if len(text) > 4000:
        raise ValueError(f"{_show(text)} has more than {_DIGITS} digits")
    return int(text)


def _read_decimal(text: str, _base: str) -> Value:
    from decimal import Decimal
    if not re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)", text):
        raise ValueError(f"{_show(text)} is no decimal number")
    return Decimal(text)


def _read_float(text: str, _base: str) -> Value:
    special = {"INF": float("inf"), "-INF": float("-inf"), "NaN": float("nan")}
    if text in special:
        return special[text]
    if not re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]*)?", text):
        raise ValueError(f"{_show(text)} is no number")
    return float(re.sub("[eE][+-]?$", "", text))  # The judge takes an exponent without digits.


def _read_bool(text: str, _base: str) -> Value:
    if text not in ("true", "false", "1", "0"):
        raise ValueError(f"{_show(text)} is neither true nor false")
    return text in ("true", "1")


def _read_binary(text: str, base: str) -> Value:
    import binascii
    packed = text.replace(" ", "")
    try:
        return bytes.fromhex(packed) if base == "hexBinary" else binascii.a2b_base64(packed.encode("ascii"))
    except (ValueError, UnicodeEncodeError):
        raise ValueError(f"{_show(text)} is no {base}") from None


def write_value(value: Value, base: str = "string") -> str:
    """The text of a value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        import binascii
        return value.hex().upper() if base == "hexBinary" else binascii.b2a_base64(value, newline=False).decode()
    if isinstance(value, float):
        return {"inf": "INF", "-inf": "-INF", "nan": "NaN"}.get(repr(value), repr(value))
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 4096 else hex(value)  # The check refuses what is as long as that.
    return format(value, "f") if not isinstance(value, tuple) else " ".join(map(write_value, value))


def _show(value: object) -> str:
    shown = value if isinstance(value, str) else repr(value) if not _is_number(value) else write_value(value)  # type: ignore[arg-type]
    shown = shown or "an empty text"
    return shown if len(shown) <= 80 else shown[:79] + "…"


def _is_number(value: object) -> bool:
    from decimal import Decimal
    return isinstance(value, (int, float, Decimal))


class _Lazy(dict[str, Any]):
    """The Python types of each family; Decimal is imported once it is needed."""

    def __missing__(self, family: str) -> Any:
        from decimal import Decimal
        self["decimal"] = (Decimal, int)
        return self[family]


_KINDS = _Lazy({"text": str, "moment": str, "bool": bool, "integer": int, "float": (float, int), "binary": bytes})
_NAMES = {"text": "text", "moment": "text", "bool": "bool", "integer": "whole number", "decimal": "Decimal",
          "float": "number", "binary": "bytes"}
_READERS: dict[str, Any] = {"text": lambda text, _base: text, "integer": _read_integer, "decimal": _read_decimal,
            "float": _read_float, "bool": _read_bool, "binary": _read_binary,
            "moment": lambda text, base: _MOMENTS[base](text)}
