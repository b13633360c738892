"""Payloads: classes that a module of payloads declares, and the one reader and writer, which follow its table.

`bind` gives each class its shape. Reading skips parts that no shape knows, and says so once; a missing part, or a
value that its type does not take, is an `Invalid` with the path of the place.
"""
from __future__ import annotations

import sys
from typing import Any, Callable, ClassVar, TypeVar, cast

from .file import File
from .markup import Element, Malformed
from .markup import read as read_markup
from .markup import write as write_markup
from .values import Date, DateTime, Duration, Simple, Time, Value

__all__ = ["Date", "DateTime", "Duration", "Element", "File", "Invalid", "Malformed", "Part", "Payload", "Time",
           "bind", "find_class", "from_element", "read", "to_element", "write"]

_payloads: dict[tuple[str, str], type[Payload]] = {}
_modules: dict[str, dict[str, type[Part]]] = {}
_said: set[str] = set()


class Invalid(ValueError):
    """A value that the schema does not take: where it is, and why."""

    code = "sdk.schema"

    def __init__(self, path: str, words: str) -> None:
        super().__init__(f"{path}: {words}")
        self.path = path
        self.words = words


class Part:
    """An element inside a payload. The constructor checks what the schema says of its fields."""

    _shape: ClassVar[Shape]

    def __post_init__(self) -> None:
        shape = type(self)._shape
        values = self.__dict__
        for field in shape.fields:
            value = values[field.field]
            if field.many and not isinstance(value, tuple):
                if not isinstance(value, list):
                    raise field.refuse(value, "tuple", shape.path)
                value = values[field.field] = tuple(value)
            elif field.inner is not None and isinstance(value, list):
                value = values[field.field] = tuple(value)
            if value is None:
                if field.least:
                    raise Invalid(f"{shape.path}/{field.name}", "is missing")
            elif field.check:
                field.check(value, shape.path)


class Payload(Part):
    """A whole payload: an element of its own."""


class Field:
    """One field of a class: where it stands, and the type of its value or of each of its values."""

    def __init__(self, entry: dict[str, Any], place: str, table: Table) -> None:
        self.field: str = entry["field"]
        self.place = place  # attribute, text, child, listed or any
        self.name: str = entry.get("name", self.field) if place != "text" else "text()"
        self.ns: str = entry.get("ns", table.ns)
        self.least: int = entry.get("required", 0) if place == "attribute" else entry.get("min", 0 if place == "any" else 1)
        self.most: int = entry.get("max", 1) if place != "any" else 0 if entry.get("many") else 1
        self.many = place in ("child", "listed", "any") and self.most != 1 or place == "listed"
        self.default: str | None = entry.get("default")
        self.at: int = entry.get("at", sys.maxsize)  # The child before which elements of `any` are written.
        self.other: str | None = entry.get("other")  # The namespace that they must not have.
        self.is_shown = not entry.get("sensitive")
        self.inner: Field | None = None
        self.simple: Simple | None = None
        self.module: str = table.ns
        self.class_name = ""
        self.alternatives = [Field({**one, "field": "items"}, "child", table) for one in entry.get("of", ())]
        kind: dict[str, Any] = entry.get("type", {})
        self.kind = next((name for name in ("simple", "class", "items", "markup", "file", "string") if name in kind), "markup")
        if self.kind in ("simple", "string"):
            self.simple = table.simple[kind["simple"]] if "simple" in kind else Simple({"base": "string"}, [])
        elif self.kind == "class":
            self.class_name, self.module = kind["class"], kind.get("module", table.ns)
        elif self.kind == "items":
            inner: dict[str, Any] = kind["items"]
            self.inner = Field({"name": "item", **inner, "field": "item"}, "child", table)
            self.inner.is_shown &= self.is_shown
        self.check: Callable[[Any, str], None] | None = self._check_many if self.many else self._check_one

    @property
    def target(self) -> type[Part]:
        """The class of the value, if it is a part."""
        try:
            return _modules[self.module][self.class_name]
        except KeyError:
            raise TypeError(f"no module with the payloads of {self.module} is imported, which has {self.class_name}") from None

    def takes(self, value: Any) -> bool:
        """Whether a value of a list is of this alternative."""
        return isinstance(value, self.target if self.kind == "class" else Element)

    def reads(self, element: Element) -> bool:
        """Whether an element of a list is of this alternative: the one without a name takes every other element."""
        return self.kind == "markup" or (self.ns, self.name) == (element.ns, element.name)

    def refuse(self, value: object, kind: str, above: str) -> Invalid:
        """The words about a value of another type; a sensitive one is not shown."""
        return Invalid(f"{above}/{self.name}", self._word(f"{value!r:.80} is no {kind}"))

    def _check_one(self, value: Any, above: str) -> None:
        if self.simple is not None:
            if words := self.simple.check(value):
                raise Invalid(f"{above}/{'@' if self.place == 'attribute' else ''}{self.name}", self._word(words))
        elif self.kind == "class":
            if not isinstance(value, self.target):
                raise self.refuse(value, self.class_name, above)
        elif self.inner is not None:
            self.inner._check_many(value, f"{above}/{self.name}")
        elif self.kind == "file":
            if not isinstance(value, File):
                raise self.refuse(value, "File", above)
        elif not isinstance(value, (Element, Payload)):
            raise self.refuse(value, "Element", above)

    def _check_many(self, values: Any, above: str) -> None:
        if not isinstance(values, (tuple, list)):
            raise self.refuse(values, "tuple", above)
        if len(values) < self.least:
            raise Invalid(f"{above}/{self.name}", f"is there {len(values)} times, and has to be {self.least} times at least")
        if self.most and len(values) > self.most:
            raise Invalid(f"{above}/{self.name}", f"is there {len(values)} times, and may be {self.most} times at most")
        for number, value in enumerate(values, 1):
            if self.place == "listed":
                if not any(one.takes(value) for one in self.alternatives):
                    raise Invalid(f"{above}/{self.name}[{number}]",
                                  self._word(f"{value!r:.80} is of no class that may stand here"))
            else:
                self._check_one(value, above)

    def read(self, element: Element, path: str) -> Any:
        """The value of an element that the field is."""
        if self.simple is not None:
            return self.read_text(element.text, path)
        if self.kind == "class":
            try:
                return self.target._shape.read(element, path)
            except Invalid as error:
                raise Invalid(error.path, self._word(error.words)) from None
        if self.inner is not None:
            inner = self.inner
            items = [part for part in element if part.name == inner.name and part.ns == inner.ns]
            return tuple([inner.read(part, f"{path}/{inner.name}[{number}]") for number, part in enumerate(items, 1)])
        return File.read(element, path, Invalid) if self.kind == "file" else element

    def read_text(self, text: str, path: str) -> Value:
        """The value of a text."""
        assert self.simple is not None
        try:
            return self.simple.read(text)
        except ValueError as error:
            raise Invalid(path, self._word(str(error))) from None

    def _word(self, words: str) -> str:
        return words if self.is_shown else "the value, which is sensitive, is none that the schema takes"

    def write(self, value: Any) -> Element:
        """The element of one value."""
        if self.kind == "markup":
            return value if isinstance(value, Element) else to_element(value)
        if self.kind == "class":
            return cast("type[Part]", type(value))._shape.write(value, self.name, self.ns)
        if self.kind == "file":
            return cast(File, value).to_element(self.name, self.ns)
        element = Element(self.name, self.ns)
        if self.inner is not None:
            element.content.extend([self.inner.write(one) for one in value])
        elif self.simple is not None:
            if text := self.simple.write(value):
                element.content.append(text)
        return element


class Shape:
    """What a class is on the wire."""

    def __init__(self, cls: type[Part], entry: dict[str, Any], table: Table) -> None:
        self.cls = cls
        self.ns = table.ns
        self.element: str | None = entry.get("element")
        self.path = "/" + (self.element or cls.__name__)
        self.attributes = [Field(one, "attribute", table) for one in entry.get("attributes", ())]
        self.text = Field(entry["text"], "text", table) if "text" in entry else None
        self.children = {(one.ns, one.name): one for one in
                         (Field(one, "child", table) for one in entry.get("children", ()))}
        self.listed = Field(entry["listed"], "listed", table) if "listed" in entry else None
        self.any = Field(entry["any"], "any", table) if "any" in entry else None
        rest = [one for one in (self.text, self.listed, self.any) if one is not None]
        self.fields = [*self.attributes, *self.children.values(), *rest]

    def read(self, element: Element, path: str) -> Part:
        """The part that an element is."""
        values: dict[str, Any] = {}
        if self.attributes or element.attributes:
            self._read_attributes(element, path, values)
        if self.text is not None:
            values[self.text.field] = self.text.read_text(element.text, path)
        many: dict[str, list[Any]] = {}
        for part in element.content:
            if isinstance(part, str):
                continue
            field = self.children.get((part.ns, part.name)) or self._find_other(part)
            if field is None:
                _skip(f"<{part.name}> of {part.ns or 'no namespace'} in {self.path}")
                continue
            inside = f"{path}/{part.name}"
            if field.place == "listed":
                one = next(one for one in field.alternatives if one.reads(part))
                many.setdefault(field.field, []).append(one.read(part, inside))
            elif field.many:
                many.setdefault(field.field, []).append(field.read(part, inside))
            elif field.field in values:
                raise Invalid(inside, "is there more than once")
            else:
                values[field.field] = field.read(part, inside)
        for name, found in many.items():
            values[name] = tuple(found)
        for field in self.fields:
            if field.field not in values:
                if field.least and not field.many:
                    raise Invalid(f"{path}/{'@' if field.place == 'attribute' else ''}{field.name}", "is missing")
                inside = f"{path}/{field.name}"
                values[field.field] = () if field.many else None
                if field.default is not None and field.place == "child":
                    values[field.field] = field.read_text(field.default, inside)
        try:
            return self.cls(**values)
        except Invalid as error:
            raise Invalid(path + error.path[len(self.path):], error.words) from None

    def _read_attributes(self, element: Element, path: str, values: dict[str, Any]) -> None:
        known = {field.name: field for field in self.attributes}
        for field in self.attributes:
            text = element.attributes.get(field.name, field.default)
            if text is not None:
                values[field.field] = field.read_text(text, f"{path}/@{field.name}")
        for name in element.attributes:
            if name not in known and not name.startswith("{"):
                _skip(f"attribute {name} in {self.path}")

    def _find_other(self, part: Element) -> Field | None:
        listed = self.listed
        if listed is not None and any(one.reads(part) for one in listed.alternatives):
            return listed
        other = self.any.other if self.any else None
        return None if other is not None and part.ns in ("", other) else self.any

    def write(self, value: Part, name: str, ns: str) -> Element:
        """The element of a part."""
        element = Element(name, ns)
        values = value.__dict__
        for field in self.attributes:
            given = values[field.field]
            if given is not None and field.simple is not None:
                element.attributes[field.name] = field.simple.write(given)
        if self.text is not None and self.text.simple is not None and values[self.text.field] is not None:
            if text := self.text.simple.write(values[self.text.field]):
                element.content.append(text)
        for number, field in enumerate(self.children.values()):
            if self.any is not None and self.any.at == number:
                self._write_any(values, element)
            given = values[field.field]
            if field.many:
                element.content.extend([field.write(one) for one in given])
            elif given is not None:
                element.content.append(field.write(given))
        if self.listed is not None:
            for given in values[self.listed.field]:
                one = next(one for one in self.listed.alternatives if one.takes(given))
                element.content.append(one.write(given))
        if self.any is not None and self.any.at >= len(self.children):
            self._write_any(values, element)
        return element

    def _write_any(self, values: dict[str, Any], element: Element) -> None:
        if self.any is not None:
            given = values[self.any.field]
            every = given if self.any.many else () if given is None else (given,)
            element.content.extend([self.any.write(one) for one in every])


class Table:
    """The simple types and the namespace of a table, while its classes are bound."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.ns: str = table["namespace"]
        self.simple: list[Simple] = []
        for entry in table.get("simple", ()):
            self.simple.append(Simple(entry, self.simple))


def bind(table: Any, *classes: type[Part]) -> None:
    """Gives each class its shape, by the table of its module. The module's last line calls it."""
    shared = Table(table)
    entries = table["classes"]
    _modules.setdefault(shared.ns, {}).update({cls.__name__: cls for cls in classes})
    for cls in classes:
        if cls.__name__ not in entries:
            raise TypeError(f"the table of {shared.ns} has no class {cls.__name__}; write the module again")
        cls._shape = Shape(cls, entries[cls.__name__], shared)
        if issubclass(cls, Payload) and cls._shape.element is not None:
            _payloads[(shared.ns, cls._shape.element)] = cls


def find_class(ns: str, name: str) -> type[Payload] | None:
    """The class of a payload, if its module is imported. Those of the organism itself are imported when one comes."""
    if (ns, name) not in _payloads and ns.startswith("https://xml-pipeline.org/ns/") and ns not in _modules:
        import importlib
        own = {"core", "talk", "meta", "envelope"} & {ns.split("/")[-2]}
        for module in own:
            try:
                importlib.import_module("." + module, __package__)
            except ModuleNotFoundError:
                _modules.setdefault(ns, {})
    return _payloads.get((ns, name))


def _skip(what: str) -> None:
    if what not in _said and len(_said) < 1000:
        _said.add(what)
        try:
            print(f"systole_sdk: skips what these payload classes do not know: {what}", file=sys.stderr, flush=True)
        except (OSError, ValueError):
            pass  # It is closed, and the payload can be read all the same.


P = TypeVar("P", bound=Payload)


def from_element(cls: type[P], element: Element) -> P:
    """The payload that an element is."""
    shape = cls._shape
    if (element.ns, element.name) != (shape.ns, shape.element):
        raise Invalid("/" + element.name, f"is no <{shape.element}> of {shape.ns}")
    return cast(P, shape.read(element, shape.path))


def to_element(payload: Payload | Element) -> Element:
    """A payload as an element, for a field that takes any."""
    if isinstance(payload, Element):
        return payload
    shape = type(payload)._shape
    if shape.element is None:
        raise TypeError(f"{type(payload).__name__} is no payload of its own")
    return shape.write(payload, shape.element, shape.ns)


def read(cls: type[P], document: bytes | str) -> P:
    """Reads a payload from its XML."""
    return from_element(cls, read_markup(document))


def write(payload: Payload | Element) -> str:
    """The XML of a payload, on one line."""
    return write_markup(to_element(payload))


def find_files(value: object) -> list[File]:
    """The files in a payload whose bytes the organism does not have yet."""
    if isinstance(value, File):
        return [value] if value.data is not None else []
    if isinstance(value, Part):
        return [file for inside in value.__dict__.values() for file in find_files(inside)] if _has_files(type(value)) else []
    if isinstance(value, tuple):
        return [file for inside in value for file in find_files(inside)]
    return []


def _has_files(cls: type[Part]) -> bool:
    known: bool | None = cls.__dict__.get("_files")
    if known is None:
        cls._files = False  # type: ignore[attr-defined]  # A class inside itself.
        known = any(_leads_to_file(field) for field in cls._shape.fields)
        cls._files = known  # type: ignore[attr-defined]
    return known


def _leads_to_file(field: Field) -> bool:
    inside = [*field.alternatives, *([field.inner] if field.inner else [])]
    if field.kind == "class" and field.place != "listed":
        return _has_files(field.target)
    return field.kind in ("file", "markup") and field.place != "listed" or any(map(_leads_to_file, inside))
