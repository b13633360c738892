// A listener without an organism: a request goes in as bytes, and the reply comes out as bytes.
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  CANCEL_MS, CORE, ENVELOPE, Envelope, Fail, LISTENER, readCount, Refused, STAMP, To, writeCancelled, writeDocument,
} from "./documents.ts";
import { type Handler, nameKey, startJob } from "./listener.ts";
import { type Payload, readPayload, writePayload } from "./payload.ts";
import { Entry } from "./shown.ts";
import { Element, escapeText, parseXml, writeAttributes, writeElement } from "./xml.ts";

/** What answers an item: a payload, a refusal, or nothing for a note. */
export type Answered = Payload | Element | Refused | undefined;
const CANCEL_AFTER_MS = 50;

/** What a listener replied, read from the bytes that it would send. */
export class TrialReply {
  readonly document: string;
  readonly items: readonly (Payload | Element | To)[];
  readonly failure: Fail | undefined;
  /** The words of an `Again`. */
  readonly again: string | undefined;

  constructor(document: string) {
    this.document = document;
    const reply = parseXml(document);
    const failure = reply.find(LISTENER, "failure");
    const outage = failure?.get("outage");
    this.failure = failure && new Fail(failure.get("code") ?? "", failure.text, { retry: failure.get("retry") === "true", ...(outage !== undefined && { outage }) });
    this.again = reply.find(LISTENER, "again")?.text;
    this.items = reply.elements.filter((one) => one.namespace !== LISTENER).map(readItem);
  }

  /** The only item; an error with the failure, if there is none. */
  get payload(): Payload | Element | To {
    if (this.failure) throw new Error(`the listener failed: ${this.failure.message}`);
    const [item] = this.items;
    if (!item || this.items.length > 1) throw new Error(`the reply has ${this.items.length} items: ${this.document}`);
    return item;
  }
}

function readItem(element: Element): Payload | Element | To {
  if (!element.is(ENVELOPE, "message")) return readPayload(element);
  const meta = element.find(ENVELOPE, "meta");
  const to = meta?.find(ENVELOPE, "to");
  const payload = readPayload(element.elements.find((one) => one !== meta) ?? element);
  return to ? new To(to.text, payload) : payload;
}

/** What a trial knows beside the requests. */
export interface TrialOptions {
  readonly sender?: string;
  /** The text of each schema that may be asked for, by the listener's name. */
  readonly schemas?: { readonly [name: string]: string };
  readonly configuration?: string;
}

/** Tries functions that `listener` gave, without an organism. */
export function trial(first: Handler<never>, ...more: readonly (Handler<never> | TrialOptions)[]): Trial {
  const handlers = [first, ...more.filter((one): one is Handler<never> => "shape" in one)];
  return new Trial(handlers, more.find((one): one is TrialOptions => !("shape" in one)) ?? {});
}

/** The pump of one call at a time: it answers the view, the journal and blobs. */
export class Trial {
  readonly progress: string[] = [];
  readonly notices: (readonly [code: string, words: string])[] = [];
  /** The entries of this turn, over all its attempts. */
  journal: Entry[] = [];
  readonly blobs = new Map<string, Uint8Array>();
  readonly #handlers: ReadonlyMap<string, Handler<never>>;
  readonly #options: TrialOptions;
  readonly #sender: string;
  #view: string[] = [];
  #entries: { readonly attempt: number; readonly document: string }[] = [];
  #inbox: string[] = [];
  #payload = "";
  #call = 1;
  #turn = 0;
  #attempt = 0;
  #deliveries = 0;
  #isCancelled = false;

  constructor(handlers: readonly Handler<never>[], options: TrialOptions) {
    this.#handlers = new Map(handlers.map((one) => [nameKey(one.shape.namespace, one.shape.element ?? ""), one]));
    this.#options = options;
    this.#sender = options.sender ?? "trial";
  }

  /** Begins a call: the first attempt at its first turn. */
  async send(request: Payload | Element): Promise<TrialReply> {
    this.#view = [];
    this.#turn = 0;
    this.#call++;
    this.#show(writePayload(request, [], LISTENER), "request", this.#sender);
    return this.#begin(writePayload(request));
  }

  /** Begins the next turn, with the answers to the items of the last one; nothing for a note. */
  async answers(...answers: readonly Answered[]): Promise<TrialReply> {
    const items = answers.map((one, at) => {
      const written = one === undefined ? "" : one instanceof Refused ? writeRefusal(one) : writePayload(one, [], CORE);
      if (one !== undefined) this.#show(one instanceof Refused ? written : writePayload(one, [], LISTENER), "answer", "peer", { turn: this.#turn, ordinal: at });
      return `<item ordinal="${at}" from="peer">${written}</item>`;
    });
    const inbox = this.#inbox.splice(0);
    for (const one of inbox) this.#show(one, "inbox", "core");
    return this.#begin(`<answers xmlns="${CORE}" turn="${this.#turn}">${items.join("")}<inbox>${inbox.join("")}</inbox></answers>`);
  }

  /** Puts payloads into the inbox of the next turn. */
  inbox(...payloads: readonly (Payload | Element)[]): this {
    this.#inbox.push(...payloads.map((one) => writePayload(one)));
    return this;
  }

  /** Lets the next delivery be called back while it is at work. */
  cancel(): this {
    this.#isCancelled = true;
    return this;
  }

  /** Delivers the same turn again, as after a crash: the next attempt, the same key, and the journal kept. */
  async crash(): Promise<TrialReply> {
    if (this.#turn === 0) throw new Error("crash() repeats a delivery, and none was sent");
    return this.#deliver();
  }

  async #begin(payload: string): Promise<TrialReply> {
    this.#payload = payload;
    this.#turn++;
    this.#attempt = 0;
    this.#entries = [];
    this.journal = [];
    return this.#deliver();
  }

  async #deliver(): Promise<TrialReply> {
    const delivery = `trial-${++this.#deliveries}`;
    const stamp = writeAttributes({
      call: this.#call, turn: this.#turn, delivery, attempt: ++this.#attempt, key: `trial:${this.#call}:${this.#turn}`, journal: this.#entries.length || undefined,
    });
    const meta = `<meta><from>${escapeText(this.#sender)}</from><thread>sess-000000000000</thread><stamp xmlns="${STAMP}"${stamp}/></meta>`;
    const envelope = new Envelope(parseXml(`<message xmlns="${ENVELOPE}">${meta}${this.#payload}</message>`));
    const job = startJob(this.#handlers, envelope, {
      progress: (document) => void this.progress.push(parseXml(document).text),
      notice: async (document) => {
        const notice = parseXml(document);
        this.notices.push([notice.get("code") ?? "", notice.text]);
      },
      ask: async (id, document) => parseXml(writeDocument("answer", { id, delivery }, this.#answer(parseXml(document)))),
    });
    const document = this.#isCancelled ? await this.#callBack(job.reply, job.cancel, delivery) : await job.reply;
    const reply = new TrialReply(document);
    for (const [at, item] of reply.items.entries()) {
      this.#show(writePayload(item instanceof To ? item.payload : item, [], LISTENER), "said", "listener", { turn: this.#turn, ordinal: at });
    }
    return reply;
  }

  async #callBack(reply: Promise<string>, cancel: () => void, delivery: string): Promise<string> {
    this.#isCancelled = false;
    const early = await Promise.race([reply, sleep(CANCEL_AFTER_MS)]);
    if (early !== undefined) return early;
    cancel();
    await Promise.race([reply, sleep(CANCEL_MS)]);
    return writeCancelled(delivery);
  }

  #show(payload: string, sort: string, from: string, more: { readonly [name: string]: number } = {}): void {
    this.#view.push(`<message${writeAttributes({ seq: this.#view.length + 1, from, sort, ...more })}>${payload}</message>`);
  }

  /** Answers a question or an entry. */
  #answer(asked: Element): string {
    if (asked.name === "journal") {
      const kept = { ...Object.fromEntries(asked.attributes), delivery: undefined, attempt: String(this.#attempt) };
      const document = `<journal${writeAttributes(kept)}>${escapeText(asked.text)}</journal>`;
      this.#entries.push({ attempt: this.#attempt, document });
      this.journal.push(new Entry(parseXml(document)));
      return "";
    }
    const question = asked.elements[0] ?? asked;
    return this.#say(question) ?? writeRefusal(new Refused("payload.invalid", `the trial has nothing to answer <${question.name}> with`));
  }

  #say(question: Element): string | undefined {
    const named = this.#options.schemas?.[question.get("name") ?? ""];
    const stored = this.blobs.get(question.get("hash") ?? "");
    switch (question.name) {
      case "view": return this.#writeView(readCount(question.get("from-seq")), question.get("items") !== "false");
      case "journal": return `<entries>${this.#entries.filter((one) => one.attempt < this.#attempt).map((one) => one.document).join("")}</entries>`;
      case "put-blob": {
        const data = Buffer.from(question.text, question.get("encoding") === "hex" ? "hex" : "utf8");
        const hash = createHash("sha256").update(data).digest("hex");
        this.blobs.set(hash, new Uint8Array(data));
        return `<blob hash="${hash}" total="${data.length}"/>`;
      }
      case "blob": return stored && `<blob${writeAttributes({ hash: question.get("hash"), encoding: "hex" })}>${Buffer.from(stored).toString("hex")}</blob>`;
      case "schema": return named === undefined ? undefined : `<schema>${escapeText(named)}</schema>`;
      case "configuration": return this.#options.configuration === undefined ? undefined : `<configuration>${escapeText(this.#options.configuration)}</configuration>`;
      default: return undefined;
    }
  }

  #writeView(from: number, hasItems: boolean): string {
    const shown = this.#view.filter((one, at) => at + 1 >= from && (hasItems || !/^<message[^>]* sort="said"/.test(one)));
    return `<view count="${this.#view.length}" mark="${this.#call}" began="2026-01-01">${shown.join("")}</view>`;
  }
}

function writeRefusal(refused: Refused): string {
  return writeElement(new Element(CORE, "system-error", { code: refused.code, retry_allowed: "true", message: refused.words }), "");
}
