"""Files in payloads: a reference to bytes that the organism keeps once, under their hash."""
from __future__ import annotations

import os
from typing import Callable

from .markup import Element

_TYPES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"),
          (b"%PDF-", "application/pdf"))


class File:
    """A file: bytes or a path, stored before the reply; or, in what comes, a reference with `sha256` and `size`."""

    __slots__ = ("data", "type", "name", "sha256", "size")

    def __init__(self, source: bytes | str | os.PathLike[str], type: str | None = None, name: str | None = None) -> None:
        import hashlib
        if not isinstance(source, bytes):
            name = os.path.basename(source) if name is None else name
            with open(source, "rb") as opened:
                source = opened.read()
        self.data: bytes | None = source
        self.type = _find_type(source) if type is None else type
        self.name = name
        self.sha256 = hashlib.sha256(source).hexdigest()
        self.size = len(source)

    @classmethod
    def read(cls, element: Element, path: str, invalid: Callable[[str, str], Exception]) -> File:
        """The reference that an element is."""
        for name in ("sha256", "type", "bytes"):
            if name not in element.attributes:
                raise invalid(f"{path}/@{name}", "is missing")
        size = element.attributes["bytes"].strip()
        if not (size.isascii() and size.isdigit()):
            raise invalid(f"{path}/@bytes", f"{size[:80]!r} is no whole number")
        file = cls.__new__(cls)
        file.data = None
        file.sha256, file.type = element.attributes["sha256"], element.attributes["type"]
        file.name = element.attributes.get("name")
        file.size = int(size[:20])
        return file

    def to_element(self, name: str, ns: str) -> Element:
        """The reference as an element."""
        attributes = {"sha256": self.sha256, "type": self.type, "bytes": str(self.size)}
        if self.name is not None:
            attributes["name"] = self.name
        return Element(name, ns, attributes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, File) and (self.sha256, self.type, self.name) == (other.sha256, other.type, other.name)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"File(sha256={self.sha256!r}, type={self.type!r}, size={self.size}, name={self.name!r})"


def _find_type(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    found = next((kind for start, kind in _TYPES if data.startswith(start)), None)
    if found is None:
        raise ValueError("the first bytes of the file are those of no PNG, JPEG, GIF, WebP or PDF: give its type")
    return found
