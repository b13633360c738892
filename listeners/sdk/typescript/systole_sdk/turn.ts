// What a function learns of its turn, and what it can say and ask while it works. A `Carrier` takes the documents to
// the pump; nothing here knows which one it is.
import { createHash } from "node:crypto";
import { Again, Cancelled, clean, CORE, type Envelope, Fail, findRefusal, readCount, writeDocument, writeWord } from "./documents.ts";
import { type Payload, writePayload } from "./payload.ts";
import { Answer, Entry, Message, readInbox, type View } from "./shown.ts";
import type { Files } from "./table.ts";
import { Element, escapeText, findForbidden, writeAttributes } from "./xml.ts";

/** What takes documents about a delivery to the pump. */
export interface Carrier {
  /** Sends progress. There is no answer to it. */
  progress(document: string): void;
  /** Sends a notice, and waits until it is taken. */
  notice(document: string): Promise<void>;
  /** Sends a question or an entry, and gives its answer. */
  ask(id: number, document: string): Promise<Element>;
}

/** An entry whose text is longer once it is escaped keeps it as documents, none of which is longer. */
const TEXT_BYTES = 900 << 10;
/** The `stop` of a call that is known to have done nothing. */
const NOT_DONE = "model.failed";
const HEX = /^(?:[0-9a-fA-F]{2})*$/;

/** One turn. Every call throws `Cancelled` once the answer is no longer wanted. */
export class Turn {
  /** The number of the turn, from 1. */
  readonly number: number;
  /** Which attempt at the turn this is, from 1. */
  readonly attempt: number;
  /** Names the piece of work, and is equal over attempts: the key for effects outside. */
  readonly key: string;
  readonly thread: string;
  readonly call: string;
  readonly sender: string;
  /** When this attempt ends; nothing over NATS. */
  readonly deadline: Date | undefined;
  /** Why this is the last turn, if it is. */
  readonly wrapUp: string | undefined;
  /** The answers to the items of the last turn, in their order. */
  readonly answers: readonly Answer[];
  /** What reached the call unasked. */
  readonly inbox: readonly (Payload | Element)[];
  /** Aborted once the answer is no longer wanted. */
  readonly signal: AbortSignal;
  readonly #carrier: Carrier;
  readonly #delivery: string;
  readonly #earlier: number;
  #asked = 0;
  #entries: Entry[] | undefined;

  constructor(envelope: Envelope, carrier: Carrier, signal: AbortSignal) {
    const { stamp, payload } = envelope;
    this.number = envelope.count("turn", 1);
    this.attempt = envelope.count("attempt", 1);
    this.key = stamp.get("key") ?? "";
    this.thread = envelope.thread;
    this.call = stamp.get("call") ?? "";
    this.sender = envelope.sender;
    const deadline = new Date(stamp.get("deadline") ?? "");
    this.deadline = Number.isNaN(deadline.getTime()) ? undefined : deadline;
    const answers = payload.is(CORE, "answers") ? payload : new Element(CORE, "answers");
    this.wrapUp = answers.get("wrap-up");
    this.answers = answers.elements.filter((one) => one.is(CORE, "item")).map((item) => new Answer(item));
    this.inbox = readInbox(answers, CORE);
    this.signal = signal;
    this.#carrier = carrier;
    this.#delivery = envelope.delivery;
    this.#earlier = envelope.count("journal");
  }

  /** Whether the answer is no longer wanted. */
  get cancelled(): boolean {
    return this.signal.aborted;
  }

  #check(): void {
    if (this.signal.aborted) throw new Cancelled();
  }

  /** Waits for a promise, and no longer than the answer is wanted. */
  async #wait<T>(work: Promise<T>): Promise<T> {
    this.#check();
    let stop = (): void => {};
    const cancelled = new Promise<never>((_, reject) => {
      stop = () => reject(new Cancelled());
      this.signal.addEventListener("abort", stop, { once: true });
    });
    try {
      return await Promise.race([work, cancelled]);
    } finally {
      this.signal.removeEventListener("abort", stop);
    }
  }

  /** Tells people who watch what is being done. */
  progress(words: string): void {
    this.#check();
    this.#carrier.progress(writeWord("progress", "", { delivery: this.#delivery }, words));
  }

  /** Leaves a word that is recorded, and shown in the next turn. */
  async notice(code: string, words: string): Promise<void> {
    this.#check();
    await this.#wait(this.#carrier.notice(writeWord("notice", "", { delivery: this.#delivery, code }, words)));
  }

  /** Waits, and ends at once if the answer is no longer wanted. */
  async sleep(milliseconds: number): Promise<void> {
    let timer;
    try {
      await this.#wait(new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds))));
    } finally {
      clearTimeout(timer);
    }
  }

  async #send(name: string, attributes: { readonly [name: string]: string | undefined }, inside: string): Promise<[number, Element]> {
    this.#check();
    const id = ++this.#asked;
    const document = writeDocument(name, { id, delivery: this.#delivery, ...attributes }, inside);
    const answer = await this.#wait(this.#carrier.ask(id, document));
    const refused = findRefusal(answer, this.#delivery);
    if (refused) throw refused;
    return [id, answer];
  }

  async #ask(name: string, attributes: { readonly [name: string]: string | undefined }, text = "", answered = name): Promise<Element> {
    const [, answer] = await this.#send("ask", {}, `<${name}${writeAttributes(attributes)}>${escapeText(text)}</${name}>`);
    const found = answer.elements.find((one) => one.name === answered);
    if (!found) throw new Fail("listener.unanswered", `the pump did not answer the question <${name}>`);
    return found;
  }

  async #pages(name: string, attributes: { readonly [name: string]: string | undefined }, from: string, answered = name): Promise<Element[]> {
    const pages: Element[] = [];
    for (let next: string | undefined; ; ) {
      const page = await this.#ask(name, next === undefined ? attributes : { ...attributes, [from]: next }, "", answered);
      pages.push(page);
      const before = readCount(next);
      next = page.get("next");
      if (next === undefined) return pages;
      if (readCount(next) <= before) throw new Fail("listener.unanswered", `the next page of <${name}> has no number above ${before}`);
    }
  }

  /** Everything that was shown and said in this call. */
  async view(options: { readonly fromSeq?: number; readonly words?: boolean; readonly items?: boolean } = {}): Promise<View> {
    const attributes = {
      "from-seq": String(options.fromSeq ?? 0),
      words: options.words ? "true" : undefined,
      items: options.items === false ? "false" : undefined,
    };
    const pages = await this.#pages("view", attributes, "from-seq");
    const shown = pages.flatMap((page) => page.elements.filter((one) => one.name === "message" || one.name === "words"));
    return { messages: shown.map((one) => new Message(one)), mark: pages[0]?.get("mark") ?? "", began: pages[0]?.get("began") ?? "" };
  }

  /** The request of the call, which turns after the first are not given. */
  async readRequest(): Promise<Element> {
    const { messages } = await this.view({ items: false });
    const request = messages.filter((one) => one.sort === "request").at(-1);
    if (!request) throw new Fail("listener.no-request", "the view of the call does not show its request");
    return request.element;
  }

  async #read(name: string, attributes: { readonly [name: string]: string | undefined }): Promise<Buffer> {
    const pages = await this.#pages(name, attributes, "from");
    return Buffer.concat(pages.map((page) => Buffer.from(page.text, page.get("encoding") === "hex" && HEX.test(page.text) ? "hex" : "utf8")));
  }

  /** A stored document that the view names. */
  async blob(hash: string): Promise<Uint8Array> {
    return Uint8Array.from(await this.#read("blob", { hash }));
  }

  /** Stores bytes, and returns their hash once they are on disk. */
  async putBlob(data: Uint8Array | string): Promise<string> {
    const bytes = Buffer.from(data as Uint8Array);
    const text = bytes.toString("utf8");
    const isText = findForbidden(text) === undefined && Buffer.from(text).equals(bytes);
    const blob = isText
      ? await this.#ask("put-blob", {}, text, "blob")
      : await this.#ask("put-blob", { encoding: "hex" }, bytes.toString("hex"), "blob");
    return blob.get("hash") ?? "";
  }

  /** Stores files whose bytes the organism may not have. */
  async storeFiles(files: Files): Promise<void> {
    const stored = new Set<string>();
    for (const { data, sha256 } of files) {
      if (data && !stored.has(sha256)) await this.putBlob(data);
      stored.add(sha256);
    }
  }

  /** The schema of this listener or of a peer, as XSD. */
  async schema(name: string, element?: string): Promise<string> {
    return (await this.#read("schema", { name, element })).toString();
  }

  /** The listener's own section of the organism's file, as YAML. */
  async configuration(path = `listeners.${process.env["SYSTOLE_LISTENER"] ?? ""}`): Promise<string> {
    return (await this.#read("configuration", { path })).toString();
  }

  /** What earlier attempts at this turn wrote down. */
  async journal(): Promise<readonly Entry[]> {
    if (this.#earlier === 0) return [];
    const pages = await this.#pages("journal", {}, "from", "entries");
    return pages.flatMap((page) => page.elements.filter((one) => one.name === "journal").map((one) => new Entry(one)));
  }

  /**
   * Calls a service outside once: a later attempt gets the text that an earlier one got. A `Fail` says that nothing
   * happened. Any other error leaves open what did, and the listener's `on_unknown` decides.
   */
  async once(
    name: string,
    request: Payload | Element | string | Uint8Array,
    call: () => string | Promise<string>,
    reserve: { readonly tokens?: number; readonly money?: string } = {},
  ): Promise<string> {
    const hashed = typeof request === "string" || request instanceof Uint8Array ? request : writePayload(request);
    const prompt = createHash("sha256").update(hashed).digest("hex");
    this.#entries ??= [...(await this.journal())];
    const known = takeKnown(this.#entries, name, prompt);
    if (known) return known.text;
    const started = { kind: "model-started", model: name, prompt, "reserve-tokens": reserve.tokens?.toString(), "reserve-money": reserve.money };
    const [start] = await this.#send("journal", started, "");
    const of = { kind: "model-result", of: String(start) };
    let text;
    try {
      text = await call();
      if (typeof text !== "string") throw new TypeError(`the call ${name} returned ${typeof text}; it has to return text`);
      escapeText(text);
    } catch (error) {
      if (error instanceof Fail) {
        await this.#send("journal", { ...of, stop: NOT_DONE, in: "0", out: "0" }, escapeText(clean(`${error.code}: ${error.words}`)));
      }
      if (error instanceof Fail || error instanceof Again || error instanceof Cancelled) throw error;
      throw new Fail("listener.error", `${name}: ${describeError(error)}`, { retry: true, cause: error });
    }
    const blobs = Buffer.byteLength(escapeText(text)) > TEXT_BYTES ? await this.#storeText(text) : undefined;
    await this.#send("journal", { ...of, stop: "end", blobs: blobs?.join(" ") }, blobs ? "" : escapeText(text));
    return text;
  }

  async #storeText(text: string): Promise<string[]> {
    const bytes = Buffer.from(text);
    const hashes: string[] = [];
    for (let start = 0, end; start < bytes.length; start = end) {
      end = findCharacter(bytes, Math.min(start + TEXT_BYTES, bytes.length));
      while (Buffer.byteLength(escapeText(bytes.toString("utf8", start, end))) > TEXT_BYTES) end = findCharacter(bytes, (start + end) >> 1);
      hashes.push(await this.putBlob(bytes.subarray(start, end)));
    }
    return hashes;
  }
}

/** The start of the character that a place in UTF-8 is in. */
function findCharacter(bytes: Buffer, at: number): number {
  while (at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) at--;
  return at;
}

/** The first result of that call, which is then used. */
function takeKnown(entries: Entry[], name: string, prompt: string): Entry | undefined {
  for (const [at, start] of entries.entries()) {
    const isIt = start.kind === "model-started" && start.attributes.get("model") === name && start.attributes.get("prompt") === prompt;
    if (!isIt) continue;
    const result = entries.find((one) => one.kind === "model-result" && one.attempt === start.attempt && readCount(one.attributes.get("of")) === start.id);
    if (!result || result.attributes.get("stop")?.startsWith("model.")) continue;
    entries.splice(at, 1);
    return result;
  }
  return undefined;
}

/** What is said of what was thrown, if it cannot be described. */
export const NO_WORDS = "something was thrown that has no words";

/** The type and the message of what was thrown, which may be anything. */
export function describeError(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;
  } catch {
    return NO_WORDS;
  }
}
