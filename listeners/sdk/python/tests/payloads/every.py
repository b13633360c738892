# Written by `systole sdk python`: do not edit, write it again.
"""Payloads of https://xml-pipeline.org/ns/every/v1: one of each form that a schema can have."""
from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from systole_sdk.payload import Date, DateTime, Duration, Element, File, Part, Payload, Time, bind


@dataclass(frozen=True, kw_only=True)
class Every(Payload):
    """Every simple type."""

    unit: Literal["celsius", "fahrenheit"]
    scale: int | None = None
    class_: str | None = None
    limit: int
    price: Decimal
    ratio: float | None = None
    is_open: bool | None = None
    raw: bytes | None = None
    hex: bytes | None = None
    day: Date | None = None
    moment: DateTime | None = None
    at: Time | None = None
    stretch: Duration | None = None
    code: str | None = None
    secret: str | None = field(default=None, repr=False)
    words: tuple[int, ...] | None = None
    size: Literal["auto"] | int | None = None
    note: str | None = None
    plain: str | None = None


@dataclass(frozen=True, kw_only=True)
class Order(Payload):
    """Every form of content."""

    tags: tuple[str, ...] = ()
    line: tuple[OrderLine, ...] = ()
    photo: File | None = None
    free: Element | None = None
    rest: tuple[Element, ...] = ()


@dataclass(frozen=True, kw_only=True)
class OrderLine(Part):
    quantity: int
    sku: str


@dataclass(frozen=True, kw_only=True)
class Mixed(Payload):
    """Content whose order matters."""

    items: tuple[MixedName | OrderLine, ...]


@dataclass(frozen=True, kw_only=True)
class MixedName(Part):
    text: str


@dataclass(frozen=True, kw_only=True)
class Local(Payload):
    """A child without a namespace."""

    city: str


bind(
    {
        "namespace": "https://xml-pipeline.org/ns/every/v1",
        "elements": {"every": "Every", "order": "Order", "mixed": "Mixed", "local": "Local"},
        "classes": {
            "Every": {
                "element": "every",
                "attributes": [
                    {"name": "unit", "field": "unit", "type": {"simple": 0}, "required": 1},
                    {"name": "scale", "field": "scale", "type": {"simple": 1}, "default": "3"},
                    {"name": "class", "field": "class_", "type": {"string": 1}},
                ],
                "children": [
                    {"name": "limit", "field": "limit", "type": {"simple": 2}},
                    {"name": "price", "field": "price", "type": {"simple": 3}},
                    {"name": "ratio", "field": "ratio", "type": {"simple": 4}, "min": 0},
                    {"name": "is-open", "field": "is_open", "type": {"simple": 5}, "min": 0},
                    {"name": "raw", "field": "raw", "type": {"simple": 6}, "min": 0},
                    {"name": "hex", "field": "hex", "type": {"simple": 7}, "min": 0},
                    {"name": "day", "field": "day", "type": {"simple": 8}, "min": 0},
                    {"name": "moment", "field": "moment", "type": {"simple": 9}, "min": 0},
                    {"name": "at", "field": "at", "type": {"simple": 10}, "min": 0},
                    {"name": "stretch", "field": "stretch", "type": {"simple": 11}, "min": 0},
                    {"name": "code", "field": "code", "type": {"simple": 12}, "min": 0},
                    {"name": "secret", "field": "secret", "type": {"simple": 13}, "min": 0, "sensitive": 1},
                    {"name": "words", "field": "words", "type": {"simple": 14}, "min": 0},
                    {"name": "size", "field": "size", "type": {"simple": 15}, "min": 0},
                    {"name": "note", "field": "note", "type": {"simple": 13}, "min": 0, "default": "none"},
                    {"name": "plain", "field": "plain", "type": {"string": 1}, "min": 0},
                ],
            },
            "Order": {
                "element": "order",
                "children": [
                    {"name": "tags", "field": "tags", "min": 0, "type": {"items": {"name": "item", "type": {"simple": 13}, "min": 0, "max": 3}}},
                    {"name": "line", "field": "line", "min": 0, "max": 0, "type": {"class": "OrderLine"}},
                    {"name": "photo", "field": "photo", "min": 0, "type": {"file": 1}},
                    {"name": "free", "field": "free", "min": 0, "type": {"markup": 1}},
                ],
                "any": {"field": "rest", "many": 1},
            },
            "OrderLine": {
                "attributes": [{"name": "quantity", "field": "quantity", "type": {"simple": 2}, "required": 1}],
                "children": [{"name": "sku", "field": "sku", "type": {"simple": 13}}],
            },
            "Mixed": {
                "element": "mixed",
                "listed": {"field": "items", "min": 1, "max": 0, "of": [
                    {"name": "name", "type": {"class": "MixedName"}}, {"name": "line", "type": {"class": "OrderLine"}}]},
            },
            "MixedName": {"text": {"field": "text", "type": {"simple": 13}}},
            "Local": {"element": "local", "children": [{"name": "city", "ns": "", "field": "city", "type": {"simple": 13}}]},
        },
        "simple": [
            {"base": "string", "values": ["celsius", "fahrenheit"]},
            {"base": "int"},
            {"base": "long", "min": ["1", 1], "max": ["100", 0]},
            {"base": "decimal", "totalDigits": 6, "fractionDigits": 2},
            {"base": "double"},
            {"base": "boolean"},
            {"base": "base64Binary", "maxLength": 8},
            {"base": "hexBinary"},
            {"base": "date"},
            {"base": "dateTime"},
            {"base": "time"},
            {"base": "duration"},
            {"base": "string", "patterns": [["[A-Z]{2}-[0-9]{6}"]]},
            {"base": "string", "minLength": 1},
            {"list": 1, "maxLength": 3},
            {"union": [16, 1]},
            {"base": "token", "values": ["auto"]},
        ],
    },
    Every, Order, OrderLine, Mixed, MixedName, Local,
)
