// One request to the HTTP door of an organism, its stream of events, and what can come of them.
import { readdirSync, readFileSync } from "node:fs";
import type * as bodies from "./bodies.ts";
import type { Query } from "./operations.ts";

/** Without a byte for so long a stream is cut off: the door sends a comment every 15 s. */
const QUIET_MS = 60_000;
const RUN_FILE = ".run";

/** The door refused a request: its code, its words, and the whole refusal. */
export class Problem extends Error {
  override name = "Problem";
  readonly code: string;
  readonly words: string;
  readonly status: number;
  readonly refusal: Partial<bodies.Refusal>;

  constructor(code: string, words: string, status = 0, refusal: Partial<bodies.Refusal> = {}) {
    super(`${code}: ${words}`);
    this.code = code;
    this.words = words;
    this.status = status;
    this.refusal = refusal;
  }
}

/** The organism was not reached, or the answer was cut off. */
export class Unreached extends Error {
  override name = "Unreached";
  /** Whether there was a connection. */
  readonly isCut: boolean;

  constructor(words: string, cause?: unknown, code?: unknown) {
    super(words, { cause });
    this.isCut = code === "UND_ERR_SOCKET" || code === "ECONNRESET";
  }
}

/** An answer. */
export interface Answered { readonly status: number; readonly bytes: Uint8Array; readonly pauseMs: number }

function readProblem(status: number, text: string): Problem {
  try {
    const refusal = JSON.parse(text) as Partial<bodies.Refusal>;
    return new Problem(String(refusal.code), String(refusal.message), status, refusal);
  } catch {
    return new Problem(`http.${status}`, text.slice(0, 200), status);
  }
}

/** Where the door is: an address and a token, or the run file of a log on this machine, which is read each time. */
export class Door {
  readonly isLocal: boolean;
  readonly #url: string;
  readonly #token: string;
  #log: string | undefined;

  constructor(url: string | undefined, token: string | undefined, log: string | undefined) {
    this.isLocal = !url;
    if (url && !/^https?:\/\/[^/@]+(\/.*)?$/.test(url)) throw new TypeError(`${url} is not the address of an organism, such as http://127.0.0.1:7474`);
    if (url && !token) throw new TypeError(`${url} needs a token: give it, or set SYSTOLE_TOKEN`);
    this.#url = url?.replace(/\/+$/, "") ?? "";
    this.#token = token ?? "";
    this.#log = log;
  }

  #find(): readonly [url: string, token: string] {
    if (!this.isLocal) return [this.#url, this.#token];
    if (this.#log === undefined) {
      const found = readdirSync(".").filter((name) => name.endsWith(RUN_FILE));
      const fix = `give the url and the token, or the log: new Client(undefined, undefined, { log: "organism.db" })`;
      if (found.length !== 1) throw new TypeError(`${found.length} run files of an organism are here: ${fix}`);
      this.#log = found[0]?.slice(0, -RUN_FILE.length);
    }
    let text;
    try {
      text = readFileSync(`${this.#log}${RUN_FILE}`, "utf8");
    } catch {
      throw new Unreached(`${this.#log}${RUN_FILE} does not exist: no organism runs on this log; try: systole run`);
    }
    try {
      const run = JSON.parse(text) as { readonly address: string; readonly token: string };
      return [`http://${run.address}`, run.token];
    } catch {
      throw new Unreached(`${this.#log}${RUN_FILE} is not whole`);
    }
  }

  async #open(method: string, path: string, query: Query, body: Uint8Array | undefined, headers: { readonly [name: string]: string }, signal: AbortSignal): Promise<Response> {
    const [url, token] = this.#find();
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== false);
    const asked = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString();
    const all = new Headers({ Authorization: `Bearer ${token}`, "User-Agent": "systole-sdk", ...headers });
    const more = body ? { body: body as Uint8Array<ArrayBuffer> } : {};
    return reach(url, fetch(`${url}${path}${asked ? `?${asked}` : ""}`, { method, headers: all, signal, ...more }));
  }

  /** One request: its status, its answer, and how long to wait before another one. */
  async request(method: string, path: string, query: Query, body: Uint8Array | undefined, headers: { readonly [name: string]: string }, milliseconds: number): Promise<Answered> {
    const response = await this.#open(method, path, query, body, headers, AbortSignal.timeout(milliseconds));
    const bytes = new Uint8Array(await reach(path, response.arrayBuffer()));
    if (response.status >= 400 && response.status !== 429 && response.status !== 503) throw readProblem(response.status, new TextDecoder().decode(bytes));
    const after = Number(response.headers.get("Retry-After") ?? 0);
    return { status: response.status, bytes, pauseMs: Number.isFinite(after) && after > 0 ? after * 1_000 : 0 };
  }

  /** What a 429 or 503 says. */
  static refuse(answer: Answered): Problem {
    return readProblem(answer.status, new TextDecoder().decode(answer.bytes));
  }

  /** The events after a position, each with its own. What is not whole is left out. */
  async *follow(query: Query, position: number, stop?: AbortSignal): AsyncGenerator<readonly [number | undefined, unknown]> {
    const controller = new AbortController();
    const quiet = setTimeout(() => controller.abort(), QUIET_MS);
    const signal = stop ? AbortSignal.any([stop, controller.signal]) : controller.signal;
    try {
      const headers = { "Last-Event-ID": String(position), Accept: "text/event-stream" };
      const response = await this.#open("GET", "/v1/events", query, undefined, headers, signal);
      if (response.status !== 200) throw readProblem(response.status, await reach("/v1/events", response.text()));
      if (!response.body) throw new Unreached("/v1/events has no body");
      const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
      const decoder = new TextDecoder();
      let rest = "";
      for (;;) {
        const { done, value } = await reach("/v1/events", reader.read());
        if (done) return;
        quiet.refresh();
        rest += decoder.decode(value, { stream: true });
        const blocks = rest.split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          const event = readEvent(block);
          if (event) yield event;
        }
      }
    } finally {
      clearTimeout(quiet);
      controller.abort();
    }
  }
}

/** Waits, and names what was not reached. */
async function reach<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { message: words = String(error), cause } = error as { readonly message?: string; readonly cause?: { readonly message?: string; readonly code?: unknown } };
    throw new Unreached(`${what}: ${words}${cause?.message === undefined ? "" : `: ${cause.message}`}`, error, cause?.code);
  }
}

/** One event of a stream, with its position. */
function readEvent(block: string): readonly [number | undefined, unknown] | undefined {
  const fields = block.split("\n").map((line) => /^(\w+): ?(.*)$/.exec(line.replace(/\r$/, "")));
  const find = (name: string): string[] => fields.filter((one) => one?.[1] === name).map((one) => one?.[2] ?? "");
  const data = find("data");
  if (data.length === 0) return undefined;
  const event = JSON.parse(data.join("\n")) as { readonly code?: string; readonly message?: string };
  if (find("event")[0] === "fault") throw new Problem(String(event.code), String(event.message), 0, event as Partial<bodies.Refusal>);
  const id = find("id")[0];
  return [id === undefined ? undefined : Number(id), event];
}
