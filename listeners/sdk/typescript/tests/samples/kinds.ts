// Payloads of urn:kinds:v1, with every kind of part and of value, as `systole sdk typescript` writes them.
import {
  bind, type DateText, type DateTimeText, type DecimalText, type DurationText, type Element, type File, type Part, type Payload,
  type Table, type TimeText,
} from "../../systole_sdk/payload.ts";
import * as _conform from "./conform.ts";

export interface Everything extends Payload<"urn:kinds:v1 everything"> {
  readonly word: string;
  readonly mode?: "fast" | "deep";
  readonly small: number;
  readonly wide?: bigint;
  readonly price?: DecimalText;
  readonly ratio?: number;
  readonly yes?: boolean;
  readonly data?: Uint8Array;
  readonly hex?: Uint8Array;
  readonly day?: DateText;
  readonly clock?: TimeText;
  readonly moment?: DateTimeText;
  readonly span?: DurationText;
  readonly sizes?: readonly (number)[];
  readonly either?: number | string;
  readonly tags?: readonly string[];
  readonly lines?: readonly EverythingLine[];
  readonly plain?: string;
  readonly far?: _conform.Task;
  readonly photo?: File;
  readonly more?: Element;
  readonly any?: readonly Element[];
  readonly unit?: "celsius" | "fahrenheit";
  readonly iban?: string;
}
export interface EverythingLine extends Part {
  readonly sku: string;
  readonly quantity: number;
}
export interface Story extends Payload<"urn:kinds:v1 story"> {
  readonly items: readonly (StoryPara | StoryPicture | Everything)[];
}
export interface StoryPara extends Part {
  readonly text: string;
}
export interface StoryPicture extends Part {
  readonly href: string;
}

const TABLE: Table = {
  "namespace": "urn:kinds:v1",
  "elements": {"everything": "Everything", "story": "Story"},
  "classes": {
    "Everything": {
      "element": "everything",
      "attributes": [
        {"name": "unit", "field": "unit", "type": {"simple": 14}, "default": "celsius"},
        {"name": "iban", "field": "iban", "type": {"simple": 0}, "sensitive": 1},
      ],
      "children": [
        {"name": "word", "field": "word", "type": {"simple": 0}},
        {"name": "mode", "field": "mode", "type": {"simple": 1}, "min": 0, "default": "fast"},
        {"name": "small", "field": "small", "type": {"simple": 2}},
        {"name": "wide", "field": "wide", "type": {"simple": 3}, "min": 0},
        {"name": "price", "field": "price", "type": {"simple": 4}, "min": 0},
        {"name": "ratio", "field": "ratio", "type": {"simple": 5}, "min": 0},
        {"name": "yes", "field": "yes", "type": {"simple": 6}, "min": 0},
        {"name": "data", "field": "data", "type": {"simple": 7}, "min": 0},
        {"name": "hex", "field": "hex", "type": {"simple": 8}, "min": 0},
        {"name": "day", "field": "day", "type": {"simple": 9}, "min": 0},
        {"name": "clock", "field": "clock", "type": {"simple": 10}, "min": 0},
        {"name": "moment", "field": "moment", "type": {"simple": 11}, "min": 0},
        {"name": "span", "field": "span", "type": {"simple": 12}, "min": 0},
        {"name": "sizes", "field": "sizes", "type": {"simple": 13}, "min": 0},
        {"name": "either", "field": "either", "type": {"simple": 15}, "min": 0},
        {"name": "tags", "field": "tags", "type": {"items": {"name": "item", "type": {"simple": 0}, "min": 0, "max": 3}}, "min": 0},
        {"name": "line", "field": "lines", "type": {"class": "EverythingLine"}, "min": 0, "max": 0},
        {"name": "plain", "ns": "", "field": "plain", "type": {"string": 1}, "min": 0},
        {"name": "task", "ns": "https://xml-pipeline.org/ns/conform/v1", "field": "far", "type": {"class": "Task", "module": "https://xml-pipeline.org/ns/conform/v1"}, "min": 0},
        {"name": "photo", "field": "photo", "type": {"file": 1}, "min": 0},
        {"name": "more", "field": "more", "type": {"markup": 1}, "min": 0},
      ],
      "any": {"field": "any", "at": 1, "many": 1, "other": "urn:kinds:v1"},
    },
    "EverythingLine": {
      "children": [
        {"name": "sku", "field": "sku", "type": {"simple": 16}},
        {"name": "quantity", "field": "quantity", "type": {"simple": 2}},
      ],
    },
    "Story": {
      "element": "story",
      "listed": {
        "field": "items",
        "of": [
          {"name": "para", "type": {"class": "StoryPara"}},
          {"name": "picture", "type": {"class": "StoryPicture"}},
          {"name": "everything", "type": {"class": "Everything"}},
          {"type": {"markup": 1}},
        ],
        "max": 4,
      },
    },
    "StoryPara": {"text": {"field": "text", "type": {"simple": 0}}},
    "StoryPicture": {"attributes": [{"name": "href", "field": "href", "type": {"simple": 0}, "required": 1}]},
  },
  "simple": [
    {"base": "string", "minLength": 1},
    {"base": "string", "values": ["fast", "deep"]},
    {"base": "int", "min": ["1", 1], "max": ["100", 0]},
    {"base": "long", "wide": 1},
    {"base": "decimal", "fractionDigits": 2, "min": ["0", 0]},
    {"base": "double"},
    {"base": "boolean"},
    {"base": "base64Binary", "maxLength": 8},
    {"base": "hexBinary"},
    {"base": "date"},
    {"base": "time"},
    {"base": "dateTime"},
    {"base": "duration"},
    {"list": 2, "maxLength": 3},
    {"base": "token", "values": ["celsius", "fahrenheit"]},
    {"union": [2, 1]},
    {"base": "token", "patterns": [["[A-Z]{2}\\x2d[0-9]+", "none"]]},
  ],
};

const shapes = bind(TABLE);
export const Everything = shapes.payload<Everything>("Everything");
export const EverythingLine = shapes.part<EverythingLine>("EverythingLine");
export const Story = shapes.payload<Story>("Story");
export const StoryPara = shapes.part<StoryPara>("StoryPara");
export const StoryPicture = shapes.part<StoryPicture>("StoryPicture");
