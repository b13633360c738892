// What a turn shows: the answers to the last items, the messages of the view, and the entries of the journal.
import { findRefusal, readCount, type Refused } from "./documents.ts";
import { Invalid, type Payload, readPayload } from "./payload.ts";
import type { Element } from "./xml.ts";

/** A payload as an object of its class, or as it is if its module is not imported or is of another schema. */
function readShown(element: Element): Payload | Element {
  try {
    return readPayload(element);
  } catch (error) {
    if (error instanceof Invalid) return element;
    throw error;
  }
}

/** The messages of the inbox. */
export function readInbox(answers: Element, namespace: string): readonly (Payload | Element)[] {
  return (answers.find(namespace, "inbox")?.elements ?? []).map(readShown);
}

/** The answer to one item of the last turn: from whom, and its payload, which a note has not. */
export class Answer {
  readonly ordinal: number;
  readonly sender: string | undefined;
  readonly seq: number;
  readonly element: Element | undefined;
  readonly payload: Payload | Element | undefined;
  /** What was wrong, if it is a refusal or a failure. */
  readonly refusal: Refused | undefined;

  constructor(item: Element) {
    this.ordinal = readCount(item.get("ordinal"));
    this.sender = item.get("from");
    this.seq = readCount(item.get("seq"));
    this.element = item.elements[0];
    this.payload = this.element && readShown(this.element);
    this.refusal = findRefusal(item, "", this.ordinal);
  }
}

/** One message of the view. `sort` is request, said, answer, inbox, thread, or words for a model's output. */
export class Message {
  readonly seq: number;
  readonly sender: string | undefined;
  readonly to: string | undefined;
  readonly sort: string;
  readonly turn: number;
  readonly ordinal: number | undefined;
  readonly element: Element;

  constructor(message: Element) {
    this.seq = readCount(message.get("seq"));
    this.sender = message.get("from");
    this.to = message.get("to");
    this.sort = message.name === "words" ? "words" : (message.get("sort") ?? "");
    this.turn = readCount(message.get("turn"));
    this.ordinal = message.attributes.has("ordinal") ? readCount(message.get("ordinal")) : undefined;
    this.element = this.sort === "words" ? message : (message.elements[0] ?? message);
  }

  /** The payload, as an object of its class if that is imported. */
  get payload(): Payload | Element {
    return readShown(this.element);
  }
}

/** The messages of a call, the mark that every turn of it has, and the day on which its thread began. */
export interface View {
  readonly messages: readonly Message[];
  readonly mark: string;
  readonly began: string;
}

/** An entry of the journal of an earlier attempt. */
export class Entry {
  readonly id: number;
  readonly attempt: number;
  readonly kind: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly text: string;

  constructor(entry: Element) {
    this.id = readCount(entry.get("id"));
    this.attempt = readCount(entry.get("attempt"));
    this.kind = entry.get("kind") ?? "";
    this.attributes = entry.attributes;
    this.text = entry.text;
  }
}
