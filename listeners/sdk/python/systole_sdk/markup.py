"""XML: a reader on expat that refuses what could do harm, and the one writer.

Elements are known by namespace and local name; prefixes mean nothing. Bytes come in and an `Element` goes out, or
the other way round. Nothing here knows a document of the organism.
"""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Iterator, Union
from pyexpat import ExpatError, ParserCreate

if TYPE_CHECKING:
    Content = list[Union["Element", str]]

DEPTH = 256  # Levels of a document. A payload has 64, and `<answers>` carries payloads.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_VALUE = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;", "\n": "&#10;", '"': "&quot;", "\t": "&#9;"}
_TEXT_SIGNS = re.compile("[&<>\r\n]")
_VALUE_SIGNS = re.compile('[&<>"\r\n\t]')
_START = ("A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
          "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff")
_NAME = re.compile(f"[{_START}][{_START}\\-.0-9\xb7\u0300-\u036f\u203f\u2040]*")
_XML = "http://www.w3.org/XML/1998/namespace"
_XMLNS = "http://www.w3.org/2000/xmlns/"
_BETWEEN = "\x01"  # Between namespace and name: a sign that no document can hold.


class Malformed(ValueError):
    """Bytes that are no document of the organism."""


class Element:
    """One element as it is, for content without a schema: name, namespace, attributes, and its text and elements."""

    __slots__ = ("name", "ns", "attributes", "content")

    def __init__(self, name: str, ns: str = "", attributes: dict[str, str] | None = None,
                 content: Content | None = None) -> None:
        self.name = name
        self.ns = ns
        self.attributes: dict[str, str] = {} if attributes is None else attributes
        self.content: Content = [] if content is None else content

    @property
    def text(self) -> str:
        """The element's own text."""
        content = self.content
        if len(content) == 1:
            only = content[0]
            return only if isinstance(only, str) else ""
        return "".join([part for part in content if isinstance(part, str)])

    def __iter__(self) -> Iterator[Element]:
        return iter([part for part in self.content if isinstance(part, Element)])

    def find(self, name: str, ns: str | None = None) -> Element | None:
        """The first child with that name, in the element's own namespace if none is given."""
        wanted = self.ns if ns is None else ns
        for part in self.content:
            if isinstance(part, Element) and part.name == name and part.ns == wanted:
                return part
        return None

    def get(self, name: str, default: str = "") -> str:
        """An attribute, or the default."""
        return self.attributes.get(name, default)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Element) and (self.name, self.ns, self.attributes, _joined(self.content)) == (
            other.name, other.ns, other.attributes, _joined(other.content))

    def __repr__(self) -> str:
        return f"Element({write(self)!r})"


def _joined(content: Content) -> Content:
    """The content with texts that follow one another as one."""
    joined: Content = []
    for part in content:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part != "":
            joined.append(part)
    return joined


def read(document: bytes | str) -> Element:
    """Reads one document. A document type, an unknown entity or too deep nesting is refused."""
    parser = ParserCreate("UTF-8", _BETWEEN)
    parser.buffer_text = True
    root: Content = []
    stack = [root]

    def start(name: str, attributes: dict[str, str]) -> None:
        ns, _, local = name.rpartition(_BETWEEN)
        if attributes and _BETWEEN in "".join(attributes):
            attributes = {_spelled(key): value for key, value in attributes.items()}
        inside: Content = []
        stack[-1].append(Element(local, ns, attributes, inside))
        stack.append(inside)
        if len(stack) > DEPTH:
            raise Malformed(f"the document is deeper than {DEPTH} levels")

    def end(_name: str) -> None:
        stack.pop()

    def text(data: str) -> None:
        stack[-1].append(data)

    def doctype(*_: Any) -> None:
        raise Malformed("a document type (DOCTYPE) is not allowed")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(document, True)
    except ExpatError as error:
        raise Malformed(f"the document is malformed: {error}") from None
    only = root[0]
    assert isinstance(only, Element)
    return only


def _spelled(name: str) -> str:
    ns, _, local = name.rpartition(_BETWEEN)
    return f"{{{ns}}}{local}" if ns else local


def find_forbidden(text: str) -> str | None:
    """The first character of a text that XML cannot carry, as U+0001."""
    found = _FORBIDDEN.search(text)
    return None if found is None else f"U+{ord(found.group()):04X}"


def clean(text: str) -> str:
    """The text with U+FFFD for what XML cannot carry: for words about a fault, whatever they quote."""
    return _FORBIDDEN.sub("\ufffd", text)


def escape(text: str) -> str:
    """A text as content. Line breaks become references, so that a document is one line."""
    _check_signs(text)
    return _TEXT_SIGNS.sub(_replace, text)


def quote(text: str) -> str:
    """A text as the value of an attribute, with its quotes."""
    _check_signs(text)
    return '"' + _VALUE_SIGNS.sub(_replace, text) + '"'


def _check_signs(text: str) -> None:
    if not (text.isascii() and text.isprintable()) and (sign := find_forbidden(text)):
        raise ValueError(f"XML cannot carry the character {sign}")


def _replace(sign: re.Match[str]) -> str:
    return _VALUE[sign.group()]


def write(element: Element, inside: str | None = None) -> str:
    """Writes an element, with its namespace declared on it. `inside` is the default namespace around it."""
    written: list[str] = []
    _write(element, inside, written)
    return "".join(written)


def _write(element: Element, default: str | None, out: list[str]) -> None:
    if not _NAME.fullmatch(element.name):
        raise ValueError(f"{element.name!r} is no name of an element")
    out.append("<" + element.name)
    if element.ns != (default or ""):
        out.append(" xmlns=" + quote(element.ns))
    for number, (name, value) in enumerate(element.attributes.items()):
        ns, _, local = name[1:].rpartition("}") if name.startswith("{") and "}" in name else ("", "", name)
        if not _NAME.fullmatch(local) or name == "xmlns" or ns == _XMLNS:
            raise ValueError(f"{name!r} is no name of an attribute")
        if ns == _XML:
            local = "xml:" + local
        elif ns:
            out.append(f" xmlns:n{number}={quote(ns)}")
            local = f"n{number}:{local}"
        out.append(f" {local}={quote(value)}")
    if not element.content:
        out.append("/>")
        return
    out.append(">")
    for part in element.content:
        if isinstance(part, str):
            out.append(escape(part))
        else:
            _write(part, element.ns, out)
    out.append(f"</{element.name}>")
