"""A place where one answer of the pump is waited for, by a thread or by a loop."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from .markup import Element


class Waiting:
    """A place for one answer: a thread waits for it, or a function is called with it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._came = threading.Lock()
        self._came.acquire()
        self._answer: list[Element | BaseException] = []
        self._then: Callable[[], None] | None = None

    def put(self, answer: Element | BaseException) -> None:
        """Gives the answer. Only the first one counts."""
        with self._lock:
            if self._answer:
                return
            self._answer.append(answer)
            then = self._then
        self._came.release()
        if then:
            then()

    def call_then(self, then: Callable[[], None]) -> None:
        """Calls the function once the answer is there."""
        with self._lock:
            if not self._answer:
                self._then = then
                return
        then()

    def take(self) -> Element:
        """Waits for the answer."""
        with self._came:
            answer = self._answer[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer
