"""The author's functions: which element each takes, and whether it is async. Found by their annotations."""
from __future__ import annotations

import sys
from typing import Any, Callable, TypeVar, overload

from .documents import To
from .markup import Element
from .payload import Payload

F = TypeVar("F", bound=Callable[..., Any])
_CONTAINERS = (list, tuple)
_ASYNC = 0x80 | 0x100  # The flags of the code of an `async def`.


class Handler:
    """One function, and the payload that it takes."""

    def __init__(self, function: Callable[..., Any], retry: tuple[type[BaseException], ...]) -> None:
        code = getattr(function, "__code__", None) or getattr(getattr(function, "__call__", None), "__code__", None)
        self.function = function
        self.retry = retry
        self.name = getattr(function, "__qualname__", repr(function))
        self.place = f"{code.co_filename}:{code.co_firstlineno}" if code else self.name
        self.is_async = bool(code and code.co_flags & _ASYNC)
        skipped = 0 if getattr(function, "__code__", None) and not hasattr(function, "__self__") else 1
        names = list(code.co_varnames[skipped:code.co_argcount]) if code else []
        if not 1 <= len(names) <= 2:
            raise TypeError(f"{self.place}: {self.name} takes {len(names)} arguments; a listener takes the request, and "
                            "the turn if it wants it: def name(request: Weather, turn: Turn)")
        self.takes_turn = len(names) == 2
        self.cls = self._find_class(names[0])
        self._check_result()

    def _read_annotation(self, name: str) -> Any:
        function: Any = self.function if hasattr(self.function, "__annotations__") else type(self.function).__call__
        found = function.__annotations__.get(name, Any)
        if not isinstance(found, str):
            return found
        try:
            return eval(found, getattr(function, "__globals__", {}))  # The author's own words, as typing reads them.
        except (NameError, AttributeError) as error:
            if name == "return":
                return Any  # It may be imported for types alone.
            raise TypeError(f"{self.place}: the type {found} of {name} cannot be found: {error}; "
                            "import it where the function is") from None

    def _find_class(self, name: str) -> type[Payload]:
        cls = self._read_annotation(name)
        if not (isinstance(cls, type) and issubclass(cls, Payload) and cls is not Payload):
            raise TypeError(f"{self.place}: {name} of {self.name} has no payload as its type; write the class of its "
                            f"element: def {self.name}({name}: Weather)")
        return cls

    def _check_result(self) -> None:
        wrong = _find_wrong(self._read_annotation("return"))
        if wrong is not None:
            shown = getattr(wrong, "__name__", wrong)
            raise TypeError(f"{self.place}: {self.name} returns {shown}, which is no payload; return a payload, a list "
                            "of payloads, To(peer, payload) or None")


def _find_wrong(kind: Any) -> Any:
    """A part of the type of a result that is no payload, if there is one."""
    if kind in (None, type(None), Any, ..., To, Element) or isinstance(kind, TypeVar):
        return None
    origin, inside = getattr(kind, "__origin__", None), getattr(kind, "__args__", ())
    if inside:
        is_container = isinstance(origin, type) and not issubclass(origin, (list, tuple)) and not _is_sequence(origin)
        return origin if is_container else next((wrong for wrong in map(_find_wrong, inside) if wrong is not None), None)
    if isinstance(kind, type) and (issubclass(kind, (Payload, Element, To)) or kind in _CONTAINERS or _is_never(kind)):
        return None
    return None if _is_never(kind) else kind


def _is_sequence(origin: type) -> bool:
    return origin.__module__ == "collections.abc" and origin.__name__ in ("Sequence", "Iterable", "Collection")


def _is_never(kind: Any) -> bool:
    return getattr(kind, "_name", "") in ("NoReturn", "Never")


class Registry:
    """The functions of one program, by their elements."""

    def __init__(self) -> None:
        self.handlers: dict[tuple[str, str], Handler] = {}

    def add(self, function: Callable[..., Any], retry: tuple[type[BaseException], ...] = ()) -> Handler:
        """Adds a function."""
        handler = Handler(function, retry)
        shape = handler.cls._shape
        key = (shape.ns, shape.element or "")
        other = self.handlers.get(key)
        if other is not None and other.place != handler.place:
            raise TypeError(f"{handler.place}: {handler.name} takes <{key[1]}>, which {other.name} at {other.place} takes "
                            "already; keep one function for each element")
        self.handlers[key] = handler
        return handler

    def find(self, element: Element) -> Handler | None:
        """The function that takes an element."""
        return self.handlers.get((element.ns, element.name))

    def name_elements(self) -> list[str]:
        """The elements that are taken."""
        return [element for _, element in self.handlers]


registry = Registry()


@overload
def listener(function: F, /) -> F: ...
@overload
def listener(*, retry: tuple[type[BaseException], ...] = ()) -> Callable[[F], F]: ...


def listener(function: Any = None, /, *, retry: tuple[type[BaseException], ...] = ()) -> Any:
    """Makes a function a listener for the element that its first argument is. `retry` names exceptions that may pass."""
    def add(taken: F) -> F:
        try:
            registry.add(taken, retry)
        except TypeError as error:
            if sys.stderr and getattr(sys.modules.get("__main__"), "__dict__", None) is getattr(taken, "__globals__", ()):
                print(f"systole_sdk: {error}", file=sys.stderr, flush=True)
                raise SystemExit(2) from None
            raise
        return taken
    return add if function is None else add(function)
