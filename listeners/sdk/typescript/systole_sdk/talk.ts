// Written by `systole sdk typescript`: do not edit, write it again.
/** Payloads of https://xml-pipeline.org/ns/talk/v1. */
import { bind, type Part, type Payload, type Table } from "./payload.ts";

/** A question or any other message. */
export interface Ask extends Payload<"https://xml-pipeline.org/ns/talk/v1 ask"> {
  readonly text: string;
}

/** A question about files, for a model that takes them. */
export interface AskWith extends Payload<"https://xml-pipeline.org/ns/talk/v1 ask-with"> {
  readonly question: string;
  readonly file: readonly AskWithFile[];
}

export interface AskWithFile extends Part {
  /** The hash under which the log keeps its bytes. */
  readonly sha256: string;
  /** Its media type, such as image/png. */
  readonly type: string;
  readonly bytes_: bigint;
  /** What its sender calls it. */
  readonly name?: string;
}

/** What is said to it. */
export interface Answer extends Payload<"https://xml-pipeline.org/ns/talk/v1 answer"> {
  readonly text: string;
}

const TABLE: Table = {
 "namespace": "https://xml-pipeline.org/ns/talk/v1",
 "elements": {"ask": "Ask", "ask-with": "AskWith", "answer": "Answer"},
 "classes": {
  "Ask": {"element": "ask", "text": {"field": "text", "type": {"simple": 0}}},
  "AskWith": {
   "element": "ask-with",
   "children": [
    {"name": "question", "field": "question", "type": {"simple": 0}},
    {"name": "file", "field": "file", "type": {"class": "AskWithFile"}, "max": 16},
   ],
  },
  "AskWithFile": {
   "attributes": [
    {"name": "sha256", "field": "sha256", "type": {"simple": 1}, "required": 1},
    {"name": "type", "field": "type", "type": {"simple": 0}, "required": 1},
    {"name": "bytes", "field": "bytes_", "type": {"simple": 2}, "required": 1},
    {"name": "name", "field": "name", "type": {"simple": 0}},
   ],
  },
  "Answer": {"element": "answer", "text": {"field": "text", "type": {"simple": 0}}},
 },
 "simple": [
  {"base": "string", "minLength": 1},
  {"base": "string", "patterns": [["[0-9a-f]{64}"]]},
  {"base": "long", "wide": 1},
 ],
};

const shapes = bind(TABLE);
export const Ask = shapes.payload<Ask>("Ask");
export const AskWith = shapes.payload<AskWith>("AskWith");
export const AskWithFile = shapes.part<AskWithFile>("AskWithFile");
export const Answer = shapes.payload<Answer>("Answer");
