// The client of an organism over its HTTP door: sends messages, waits, decides, and follows the log.
//
//     const client = new Client();  // beside a running organism, as its operator
//     const answer = await client.ask(Weather({ city: "Rome" }), { returns: WeatherAnswer });
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type * as bodies from "./bodies.ts";
import { type Answered, Door, Problem, Unreached } from "./door.ts";
import { Operations, type Query } from "./operations.ts";
import { type Constructor, type Payload, writePayload } from "./payload.ts";
import type { Files } from "./table.ts";
import type { Element } from "./xml.ts";

export { Problem, Unreached } from "./door.ts";

/** The longest wait of one request. */
const WAIT_S = 240;
const REQUEST_MS = 60_000;
/** A connection that was cut after so long had reached the organism. */
const CONTACT_MS = 1_000;
const PAUSES_MS = [100, 200, 500, 1_000, 2_000, 5_000];

/** A message has no answer: it failed, or is not done in time. `result` is its outcome. */
export class Unanswered extends Problem {
  override name = "Unanswered";
  readonly result: bodies.Outcome | undefined;

  constructor(code: string, words: string, result: bodies.Outcome | undefined) {
    super(code, words);
    this.result = result;
  }
}

/** A message that is on disk: its receipt, and what sends it again with the same key. */
export class Sent {
  readonly document: Uint8Array;
  readonly key: string;
  readonly options: SendOptions;
  receipt: bodies.Receipt | bodies.AnsweredReceipt | undefined;
  result: bodies.Outcome | undefined;

  constructor(document: Uint8Array, options: SendOptions) {
    this.document = document;
    this.key = options.key ?? randomUUID();
    this.options = options;
  }

  /** The thread that the message opened or goes on with. */
  get thread(): string {
    return this.receipt?.thread ?? "";
  }
}

/** How a message is sent. */
export interface SendOptions {
  readonly to?: string;
  readonly thread?: string;
  /** Names the message: sent again with the same key it is the same message. */
  readonly key?: string;
  readonly subject?: string;
}

/** What the answer is, and how many seconds to wait for it. */
export interface WaitOptions<T> { readonly returns: Constructor<T>; readonly timeout?: number }

/** What is followed. */
export interface EventOptions { readonly from?: number; readonly thread?: string; readonly voice?: boolean; readonly signal?: AbortSignal }

/** A client with a token, or the operator of an organism on this machine. */
export class Client extends Operations {
  readonly #door: Door;
  readonly #patienceMs: number;

  /** `patience` is for how many seconds without contact a request that may be repeated is repeated. */
  constructor(url?: string, token?: string, options: { readonly log?: string; readonly patience?: number } = {}) {
    super();
    this.#door = new Door(url ?? process.env["SYSTOLE_URL"], token ?? process.env["SYSTOLE_TOKEN"], options.log);
    this.#patienceMs = (options.patience ?? 30) * 1_000;
  }

  protected override async bytes(method: string, path: string, query: Query): Promise<Uint8Array> {
    return (await this.#request(method, path, query, undefined, {}, method === "GET")).bytes;
  }

  protected override async call(method: string, path: string, query: Query, body?: unknown): Promise<unknown> {
    const said = body === undefined ? undefined : new TextEncoder().encode(JSON.stringify(body));
    return readJson(await this.#request(method, path, query, said, said ? { "Content-Type": "application/json" } : {}, method === "GET"));
  }

  /** One request; again, with the same bytes, if it may be repeated and nothing is known of it. */
  async #request(method: string, path: string, query: Query, body: Uint8Array | undefined, headers: { readonly [name: string]: string }, repeats: boolean, milliseconds = REQUEST_MS): Promise<Answered> {
    let until: number | undefined;
    for (let tries = 0; ; tries++) {
      const begun = performance.now();
      let pause = findPause(tries);
      let problem: Error;
      try {
        const answer = await this.#door.request(method, path, query, body, headers, milliseconds);
        if (answer.status < 400) return answer;
        problem = Door.refuse(answer);
        pause = Math.max(pause, answer.pauseMs);
      } catch (error) {
        if (!(error instanceof Unreached)) throw error;
        problem = error;
        if (error.isCut && performance.now() - begun > CONTACT_MS) until = undefined;
      }
      until ??= performance.now() + this.#patienceMs;
      if (!repeats || performance.now() + pause > until) throw problem;
      await sleep(pause);
    }
  }

  /** Sends a message. It is on disk once this returns; `wait` waits for what comes of it. */
  async send(payload: Payload | Element, options: SendOptions = {}): Promise<Sent> {
    const files: Files = [];
    const sent = new Sent(new TextEncoder().encode(writePayload(payload, files)), options);
    for (const { data } of files) if (data) await this.#request("POST", "/v1/files", {}, data, {}, true);
    await this.#post(sent, 0);
    return sent;
  }

  async #post(sent: Sent, seconds: number): Promise<void> {
    const headers = {
      "Idempotency-Key": sent.key,
      "Content-Type": "application/xml",
      ...(seconds > 0 && { "Systole-Wait": String(seconds) }),
      ...(sent.options.subject !== undefined && { "Systole-Subject": Buffer.from(sent.options.subject).toString("latin1") }), // UTF-8: each character of a header is a byte.
    };
    const query = { to: sent.options.to, thread: sent.options.thread };
    const answer = await this.#request("POST", "/v1/messages", query, sent.document, headers, true, seconds * 1_000 + REQUEST_MS);
    const receipt = readJson(answer) as bodies.Receipt | bodies.AnsweredReceipt;
    sent.receipt = receipt;
    if ("result" in receipt) sent.result = receipt.result;
  }

  /** The answer to a message; `Unanswered`, if there is none. */
  async wait<T>(sent: Sent, options: WaitOptions<T>): Promise<T> {
    const { returns, timeout = 300 } = options;
    const until = performance.now() + timeout * 1_000;
    for (;;) {
      const left = Math.min(WAIT_S, Math.ceil((until - performance.now()) / 1_000));
      if (left < 1) throw new Unanswered("client.timeout", `thread ${sent.thread} is not done after ${timeout} s`, sent.result);
      await this.#post(sent, left);
      const { outcome = "open", code = outcome, payload = "" } = sent.result ?? {};
      if (outcome === "answered") return returns.read(payload);
      if (outcome !== "open") throw new Unanswered(code, `thread ${sent.thread}: ${outcome}${payload === "" ? "" : `: ${payload}`}`, sent.result);
    }
  }

  /** Sends a message and waits for the answer. */
  async ask<T>(payload: Payload | Element, options: SendOptions & WaitOptions<T>): Promise<T> {
    return this.wait(await this.send(payload, options), options);
  }

  /** Lets the payload go out that was read: another one is refused. */
  async approve(approval: bodies.Approval, note?: string): Promise<bodies.Decided> {
    return this.#decide(approval, { outcome: "approved", note });
  }

  /** Rejects the payload. */
  async reject(approval: bodies.Approval, note: string): Promise<bodies.Decided> {
    return this.#decide(approval, { outcome: "rejected", note });
  }

  /** Lets another payload go out in place of the one that was read. */
  async amend(approval: bodies.Approval, payload: Payload | Element, note?: string): Promise<bodies.Decided> {
    return this.#decide(approval, { outcome: "amended", payload: writePayload(payload), note });
  }

  /** Answers a question. */
  async choose(question: bodies.Question, choice: string, note?: string): Promise<bodies.Decided> {
    return this.#decide(question, { outcome: "chosen", choice, note });
  }

  async #decide(waiting: bodies.Approval | bodies.Question, decision: { readonly [name: string]: string | undefined }): Promise<bodies.Decided> {
    const path = `/v1/approvals/${encodeURIComponent(waiting.id)}`;
    return (await this.call("POST", path, {}, { ...decision, hash: waiting.hash })) as bodies.Decided;
  }

  /**
   * The records after a position, then each new one, once and in order; for ever, over cuts and restarts. Without a
   * position it begins with what is new. With `voice` it also yields what listeners say while they work. It ends once
   * the `signal` is aborted.
   */
  async *events(options: EventOptions = {}): AsyncGenerator<bodies.Record | bodies.Spoken> {
    const { thread, voice, signal } = options;
    let position = options.from ?? (await this.status()).position;
    for (let tries = 0; ; tries++) {
      try {
        for await (const [number, event] of this.#door.follow({ from: position, thread, voice }, position, signal)) {
          tries = 0;
          if (number !== undefined && number <= position) continue;
          position = number ?? position;
          yield event as bodies.Record | bodies.Spoken;
        }
      } catch (error) {
        if (signal?.aborted) return;
        // A new organism on this log has another token, which is in its run file.
        const passes = error instanceof Problem && (error.status === 429 || error.status === 503 || (error.status === 401 && this.#door.isLocal));
        if (!passes && !(error instanceof Unreached)) throw error;
      }
      await sleep(findPause(tries), undefined, signal && { signal }).catch(() => {});
      if (signal?.aborted) return;
    }
  }
}

function findPause(tries: number): number {
  return PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)] ?? 0;
}

function readJson(answer: Answered): unknown {
  return JSON.parse(new TextDecoder().decode(answer.bytes));
}
