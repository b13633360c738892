// The documents between a listener and the pump: what comes is read, and what goes out is written.
// `docs/reference/elements.md` lists them. Nothing here waits or sends.
import { type Payload, writePayload } from "./payload.ts";
import type { Files } from "./table.ts";
import { Element, escapeText, findForbidden, writeAttributes, writeTag } from "./xml.ts";

export const VERSION = "0.1";
/** The digit of the listener's namespace. */
export const PROTOCOL = "1";
export const ENVELOPE = "https://xml-pipeline.org/ns/envelope/v1";
export const CORE = "https://xml-pipeline.org/ns/core/v1";
export const STAMP = "urn:systole:stamp:v1";
export const LISTENER = "urn:systole:listener:v1";
/** The most bytes of a reply. */
export const REPLY_BYTES = 8 << 20;
/** How long work may go on after its delivery was called back. */
export const CANCEL_MS = 3_000;
const CODE_LENGTH = 128;
const WORDS_LENGTH = 4000;

/**
 * Ends the turn as a failure: a code of your own, words for the caller, and whether to try again. With `outage`, one
 * word for who is away, the call waits until that is over.
 */
export class Fail extends Error {
  override name = "Fail";
  readonly code: string;
  readonly words: string;
  readonly retry: boolean;
  readonly outage: string | undefined;

  constructor(code: string, words = "", options: { readonly retry?: boolean; readonly outage?: string; readonly cause?: unknown } = {}) {
    super(`${code}: ${words}`, { cause: options.cause });
    this.code = String(code);
    this.words = String(words);
    this.retry = options.retry ?? false;
    this.outage = options.outage === undefined ? undefined : String(options.outage);
  }
}

/** Ends the turn and asks for another one, which shows the words. */
export class Again extends Error {
  override name = "Again";
  readonly code: string;
  readonly words: string;

  constructor(code: string, words = "") {
    super(`${code}: ${words}`);
    this.code = String(code);
    this.words = String(words);
  }
}

/** The pump refused a question, an entry, a notice, or a reply or one item of it. */
export class Refused extends Error {
  override name = "Refused";
  readonly code: string;
  readonly words: string;
  readonly delivery: string;
  /** The item of the reply, from 0; nothing if all of it is refused. */
  readonly ordinal: number | undefined;

  constructor(code: string, words: string, delivery = "", ordinal?: number) {
    super(`${code}: ${words}`);
    this.code = code;
    this.words = words;
    this.delivery = delivery;
    this.ordinal = ordinal;
  }
}

/** The answer is no longer wanted. Every call of `turn` throws it, so that the work ends. */
export class Cancelled extends Error {
  override name = "Cancelled";

  constructor() {
    super("the answer is no longer wanted");
  }
}

/** An item for a peer by name, where several take its element. */
export class To {
  readonly peer: string;
  readonly payload: Payload | Element;

  constructor(peer: string, payload: Payload | Element) {
    this.peer = peer;
    this.payload = payload;
  }
}

export type Item = Payload | Element | To;

/** A delivery as it came: the stamp, who sent it, in which thread, and the payload. */
export class Envelope {
  readonly stamp: Element;
  readonly delivery: string;
  readonly sender: string;
  readonly thread: string;
  readonly payload: Element;

  constructor(message: Element) {
    const meta = message.find(ENVELOPE, "meta");
    const stamp = meta?.find(STAMP, "stamp");
    const payload = message.elements.find((one) => one !== meta);
    const delivery = stamp?.get("delivery");
    if (!meta || !stamp || !payload || !delivery) throw new Error("it has no stamp with a delivery, or no payload");
    this.stamp = stamp;
    this.delivery = delivery;
    this.sender = meta.find(ENVELOPE, "from")?.text ?? "";
    this.thread = meta.find(ENVELOPE, "thread")?.text ?? "";
    this.payload = payload;
  }

  count(name: string, missing = 0): number {
    return readCount(this.stamp.get(name), missing);
  }
}

/** A count from an attribute of the pump. */
export function readCount(text: string | undefined, missing = 0): number {
  return text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : missing;
}

/** The refusal directly inside an answer, a receipt or one item of it, if there is one. */
export function findRefusal(inside: Element | undefined, delivery = "", ordinal?: number): Refused | undefined {
  const error = inside?.find(CORE, "system-error");
  return error && new Refused(error.get("code") ?? "unknown", error.get("message") ?? "", delivery, ordinal);
}

/** The reply with these items. Files whose bytes have to be stored before are added to `files`. */
export function writeReply(delivery: string, items: readonly Item[], files: Files = []): string {
  return wrap(delivery, items.map((item) => writeItem(item, files)).join(""));
}

function writeItem(item: Item, files: Files): string {
  if (!(item instanceof To)) return writePayload(item, files, LISTENER);
  const to = writeTag(ENVELOPE, "to", ENVELOPE, "", escapeText(item.peer));
  const payload = writePayload(item.payload, files, ENVELOPE);
  return writeTag(ENVELOPE, "message", LISTENER, "", writeTag(ENVELOPE, "meta", ENVELOPE, "", to) + payload);
}

/** The reply that says why there is no answer. */
export function writeFailure(delivery: string, failure: Fail): string {
  const attributes = {
    code: clean(failure.code, CODE_LENGTH) || "listener.error",
    retry: failure.retry ? "true" : undefined,
    outage: failure.outage === undefined ? undefined : clean(failure.outage, CODE_LENGTH),
  };
  return wrap(delivery, writeWord("failure", LISTENER, attributes, clean(failure.words)));
}

/** The reply that lets go of a delivery that was called back. */
export function writeCancelled(delivery: string): string {
  return writeFailure(delivery, new Fail("listener.cancelled", "the work was called back"));
}

/** The reply that asks for another turn. */
export function writeAgain(delivery: string, again: Again): string {
  const code = clean(again.code, CODE_LENGTH) || "listener.again";
  return wrap(delivery, writeWord("again", LISTENER, { code }, clean(again.words)));
}

function wrap(delivery: string, inside: string): string {
  return writeTag(LISTENER, "reply", "", writeAttributes({ delivery }), inside);
}

/** A document that a listener sends while it works: progress, a notice, a question, an entry. */
export function writeDocument(name: string, attributes: { readonly [name: string]: string | number | undefined }, inside: string): string {
  return writeTag(LISTENER, name, "", writeAttributes(attributes), inside);
}

/** An element of the listener's namespace that holds text. */
export function writeWord(name: string, around: string, attributes: { readonly [name: string]: string | number | undefined }, text = ""): string {
  return writeTag(LISTENER, name, around, writeAttributes(attributes), escapeText(text));
}

/** Words that any document can carry. */
export function clean(words: string, most = WORDS_LENGTH): string {
  let text = words.slice(0, most);
  while (findForbidden(text)) text = text.replace(/[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD");
  return text;
}

/** Why this program cannot talk to the organism that started it, or nothing. */
export function checkProtocol(protocol: string | undefined): string | undefined {
  if (protocol === undefined || protocol === PROTOCOL) return undefined;
  return `this organism speaks protocol ${clean(protocol, 20)}, systole-sdk ${VERSION} speaks ${PROTOCOL}; try: systole sdk typescript`;
}
