"""Listeners and clients of a Systole organism.

    from systole_sdk import Turn, listener, run
    from payloads.hello import Weather, WeatherAnswer

    @listener
    def weather(request: Weather, turn: Turn) -> WeatherAnswer:
        return WeatherAnswer(text=f"Sunny in {request.city}")

    if __name__ == "__main__":
        run()
"""
TYPE_CHECKING = False
if TYPE_CHECKING:
    from .client import AsyncClient as AsyncClient, Client as Client
    from .documents import Again as Again, Cancelled as Cancelled, Fail as Fail, Refused as Refused, To as To
    from .file import File as File
    from .handlers import listener as listener
    from .markup import Element as Element, Malformed as Malformed
    from .payload import Invalid as Invalid, Part as Part, Payload as Payload, read as read, write as write
    from .running import run as run
    from .sending import Problem as Problem, Unanswered as Unanswered
    from .shown import Answer as Answer, Message as Message, View as View
    from .turn import AsyncTurn as AsyncTurn, Turn as Turn
    from .values import Date as Date, DateTime as DateTime, Duration as Duration, Time as Time

__version__ = "0.1.0"

_HOMES = {
    "client": ("AsyncClient", "Client"),
    "sending": ("Problem", "Unanswered"),
    "documents": ("Again", "Cancelled", "Fail", "Refused", "To"),
    "file": ("File",),
    "handlers": ("listener",),
    "markup": ("Element", "Malformed"),
    "payload": ("Invalid", "Part", "Payload", "read", "write"),
    "running": ("run",),
    "shown": ("Answer", "Message", "View"),
    "turn": ("AsyncTurn", "Turn"),
    "values": ("Date", "DateTime", "Duration", "Time"),
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    """Imports what is asked for, and no more: a client needs no listener, and a listener no client."""
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib
    value: object = getattr(importlib.import_module("." + _NAMES[name], __name__), name)
    globals()[name] = value
    return value
