"""The journal: what a listener writes down before and after it pays for something, and how a later attempt uses it.

The steps are what `Turn` and `AsyncTurn` carry out: a question, an entry, or a call of the author's function.
"""
from __future__ import annotations

from typing import Any, Callable, Generator, Union

from .documents import Again, Cancelled, Fail, count
from .markup import Element, escape, write

TEXT_BYTES = 900 << 10  # An entry with more text, as it is escaped, keeps it as documents.
_SIGN_BYTES = 5  # The most that one sign becomes: `&#10;`.
NOT_DONE = "model.failed"  # The `stop` of a call that is known to have done nothing.


class Question:
    """A question to the pump."""

    def __init__(self, inner: str) -> None:
        self.inner = inner


class Journal:
    """An entry of the journal, to be on disk before the work goes on."""

    def __init__(self, kind: str, attributes: dict[str, str], text: str = "") -> None:
        self.attributes = {"kind": kind, **attributes}
        self.text = text


class Call:
    """A call of the author's function."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function


Step = Union[Question, Journal, Call]


class Entry:
    """One entry of an earlier attempt: its number, its attempt, its kind, and its attributes and text."""

    def __init__(self, element: Element) -> None:
        self.id = count(element.attributes.get("id"))
        self.attempt = count(element.attributes.get("attempt"))
        self.kind = element.get("kind")
        self.attributes = element.attributes
        self.text = element.text

    def __repr__(self) -> str:
        return f"Entry({self.attempt}, {self.id}, {self.kind!r}, {self.text!r})"


def read_entries() -> Generator[Step, Any, tuple[Entry, ...]]:
    """Reads the entries of earlier attempts, page by page."""
    entries: list[Entry] = []
    start = ""
    while True:
        answer: Element = yield Question(f"<journal{start}/>")
        page = answer.find("entries")
        if page is None:
            raise Fail("listener.unanswered", "the pump did not answer the question <journal>")
        entries += [Entry(one) for one in page if one.name == "journal"]
        if not count(page.attributes.get("next")):
            return tuple(entries)
        start = f' from="{count(page.attributes["next"])}"'


def take_once(entries: list[Entry], name: str, request: object, call: Callable[[], Any],
              reserve: dict[str, str]) -> Generator[Step, Any, str]:
    """The text of a call outside: from the journal, if an earlier attempt has it, else from the call."""
    prompt = _hash_request(request)
    known = _take_known(entries, name, prompt)
    if known is not None:
        return known.text
    start: int = yield Journal("model-started", {"model": name, "prompt": prompt, **reserve})
    try:
        text = yield Call(call)
    except Fail as failure:
        words = f"{failure.code}: {failure.words}"
        yield Journal("model-result", {"of": str(start), "stop": NOT_DONE, "in": "0", "out": "0"}, words)
        raise
    except (Again, Cancelled):
        raise
    except Exception as error:
        raise Fail("listener.error", f"{name}: {type(error).__name__}: {error}", retry=True) from error
    if not isinstance(text, str):
        raise TypeError(f"the call {name} returned {type(text).__name__}; it has to return text")
    attributes = {"of": str(start), "stop": "end"}
    if len(escape(text).encode()) > TEXT_BYTES:
        attributes["blobs"] = " ".join((yield from _store_text(text)))
        yield Journal("model-result", attributes)
    else:
        yield Journal("model-result", attributes, text)
    return text


def _store_text(text: str) -> Generator[Step, Any, list[str]]:
    hashes: list[str] = []
    part = TEXT_BYTES // _SIGN_BYTES
    for start in range(0, len(text), part):
        answer: Element = yield Question(f"<put-blob>{escape(text[start:start + part])}</put-blob>")
        blob = answer.find("blob")
        hashes.append("" if blob is None else blob.get("hash"))
    return hashes


def _take_known(entries: list[Entry], name: str, prompt: str) -> Entry | None:
    """The first result of that call, which is then used."""
    for start in entries:
        if (start.kind, start.attributes.get("model"), start.attributes.get("prompt")) == ("model-started", name, prompt):
            for result in entries:
                ours = result.kind == "model-result" and result.attempt == start.attempt
                if ours and count(result.attributes.get("of")) == start.id:
                    if result.attributes.get("stop", "").startswith("model."):
                        break
                    entries.remove(start)
                    return result
    return None


def _hash_request(request: object) -> str:
    import hashlib
    from .payload import Payload, to_element
    if isinstance(request, (Payload, Element)):
        request = write(to_element(request))
    if isinstance(request, str):
        request = request.encode()
    if not isinstance(request, bytes):
        raise TypeError(f"once takes a payload, a text or bytes for the request, and no {type(request).__name__}")
    return hashlib.sha256(request).hexdigest()
