// Payloads of https://xml-pipeline.org/ns/conform/v1, as `systole sdk typescript` writes them.
import { bind, type Payload, type Table } from "../../systole_sdk/payload.ts";

/** A piece of work for a worker that is judged. */
export interface Task extends Payload<"https://xml-pipeline.org/ns/conform/v1 task"> {
  readonly text: string;
  readonly do?:
    | "echo" | "sleep" | "fail" | "again" | "throw" | "exit" | "hang" | "print" | "stderr" | "progress" | "notice" | "view" | "blob"
    | "once" | "call" | "many" | "large" | "bad" | "silent";
  readonly n?: bigint;
  readonly code?: string;
}

/** What came of it. */
export interface Done extends Payload<"https://xml-pipeline.org/ns/conform/v1 done"> {
  readonly text: string;
  readonly key: string;
  readonly attempt: bigint;
  readonly turn: bigint;
  readonly n?: bigint;
  readonly sender: string;
}

/** A note of the work `many`, numbered from 0. */
export interface Remark extends Payload<"https://xml-pipeline.org/ns/conform/v1 remark"> {
  readonly text: string;
  readonly n: bigint;
}

const TABLE: Table = {
  "namespace": "https://xml-pipeline.org/ns/conform/v1",
  "elements": {"task": "Task", "done": "Done", "remark": "Remark"},
  "classes": {
    "Task": {
      "element": "task",
      "attributes": [
        {"name": "do", "field": "do", "type": {"simple": 2}},
        {"name": "n", "field": "n", "type": {"simple": 1}},
        {"name": "code", "field": "code", "type": {"simple": 0}},
      ],
      "text": {"field": "text", "type": {"simple": 0}},
    },
    "Done": {
      "element": "done",
      "attributes": [
        {"name": "key", "field": "key", "type": {"simple": 0}, "required": 1},
        {"name": "attempt", "field": "attempt", "type": {"simple": 3}, "required": 1},
        {"name": "turn", "field": "turn", "type": {"simple": 3}, "required": 1},
        {"name": "n", "field": "n", "type": {"simple": 1}},
        {"name": "sender", "field": "sender", "type": {"simple": 0}, "required": 1},
      ],
      "text": {"field": "text", "type": {"simple": 0}},
    },
    "Remark": {
      "element": "remark",
      "attributes": [{"name": "n", "field": "n", "type": {"simple": 1}, "required": 1}],
      "text": {"field": "text", "type": {"simple": 0}},
    },
  },
  "simple": [
    {"base": "string"},
    {"base": "nonNegativeInteger", "wide": 1},
    {"base": "string", "values": ["echo", "sleep", "fail", "again", "throw", "exit", "hang", "print", "stderr", "progress", "notice", "view", "blob", "once", "call", "many", "large", "bad", "silent"]},
    {"base": "positiveInteger", "wide": 1},
  ],
};

const shapes = bind(TABLE);
export const Task = shapes.payload<Task>("Task");
export const Done = shapes.payload<Done>("Done");
export const Remark = shapes.payload<Remark>("Remark");
