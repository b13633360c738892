// The program over stdin and stdout, as an organism starts it. The first byte shows the framing. It ends when stdin ends.
import { CANCEL_MS, ENVELOPE, Envelope, LISTENER, readCount, writeCancelled } from "./documents.ts";
import { type Handlers, type Job, startJob } from "./listener.ts";
import type { Carrier } from "./turn.ts";
import { type Element, parseXml } from "./xml.ts";

/** How long work may go on after stdin ended, and after TERM. */
const LAST_MS = 9_000;
const TERM_MS = 4_000;
const LENGTH_DIGITS = 10;

/** Takes documents out of what is read. */
export class Frames {
  /** Whether each document has its length before it; nothing until the first byte has come. */
  withLength: boolean | undefined;
  #parts: Buffer[] = [];
  #size = 0;
  #length: number | undefined;

  /** Adds what was read, and gives the documents that are whole. */
  feed(chunk: Buffer): Buffer[] {
    if (chunk.length === 0) return [];
    this.withLength ??= chunk[0] !== undefined && chunk[0] >= 0x30 && chunk[0] <= 0x39;
    return this.withLength ? this.#feedLengths(chunk) : this.#feedLines(chunk);
  }

  #feedLines(chunk: Buffer): Buffer[] {
    const documents: Buffer[] = [];
    let start = 0;
    for (let end; (end = chunk.indexOf(10, start)) >= 0; start = end + 1) {
      documents.push(this.#take(chunk.subarray(start, end)));
    }
    this.#keep(chunk.subarray(start));
    return documents;
  }

  #keep(part: Buffer): void {
    if (part.length > 0) this.#parts.push(part);
    this.#size += part.length;
  }

  #take(last: Buffer): Buffer {
    const document = this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last]);
    this.#parts = [];
    this.#size = 0;
    return document;
  }

  #feedLengths(chunk: Buffer): Buffer[] {
    const documents: Buffer[] = [];
    for (let rest = chunk; rest.length > 0; ) {
      if (this.#length === undefined) {
        const end = rest.indexOf(10);
        const head = this.#take(end < 0 ? rest : rest.subarray(0, end));
        if (!/^[0-9]*$/.test(head.toString("latin1")) || head.length > LENGTH_DIGITS) throw new Error("stdin has no length before a document");
        if (end < 0) this.#keep(head);
        else this.#length = Number(head);
        rest = end < 0 ? Buffer.alloc(0) : rest.subarray(end + 1);
      } else {
        const need = this.#length - this.#size;
        if (rest.length < need) this.#keep(rest);
        else {
          documents.push(this.#take(rest.subarray(0, need)));
          this.#length = undefined;
        }
        rest = rest.subarray(Math.min(need, rest.length));
      }
    }
    return documents;
  }

  /** A document as it is written. The writer leaves no line break in it. */
  frame(document: string): string {
    return this.withLength ? `${Buffer.byteLength(document)}\n${document}` : `${document}\n`;
  }

  get isEmpty(): boolean {
    return this.#size === 0 && this.#length === undefined;
  }
}

const GONE = "stdin has ended: the organism is gone";

/** Points everything that is printed at stderr, and gives what writes to the pump. */
export function takeStdout(): (text: string) => Promise<void> {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  process.stdout.on("error", () => process.exit(1)); // The pump is gone, and no one reads.
  return (text) => new Promise((resolve) => write(text, () => resolve()));
}

/** Serves the pump over the two streams, and gives the exit code. */
export async function serveStdin(handlers: Handlers, concurrency: number, write: (text: string) => Promise<void>): Promise<number> {
  const program = new StdinProgram(handlers, concurrency, write);
  return program.serve();
}

class StdinProgram {
  readonly #handlers: Handlers;
  readonly #concurrency: number;
  readonly #write: (text: string) => Promise<void>;
  readonly #frames = new Frames();
  readonly #jobs = new Map<string, Job>();
  readonly #waiting: Envelope[] = [];
  readonly #questions = new Map<string, { take(answer: Element): void; stop(error: Error): void }>();
  readonly #written = new Set<Promise<void>>();
  #ignored = 0;
  #isEnding = false;
  #isGone = false;
  #end: (code: number) => void = () => {};

  constructor(handlers: Handlers, concurrency: number, write: (text: string) => Promise<void>) {
    this.#handlers = handlers;
    this.#concurrency = concurrency;
    this.#write = write;
  }

  async serve(): Promise<number> {
    const ended = new Promise<number>((resolve) => (this.#end = resolve));
    process.stdin.on("data", (chunk: Buffer) => this.#read(chunk));
    process.stdin.on("end", () => this.#finish(LAST_MS));
    process.stdin.on("error", () => this.#finish(LAST_MS));
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => (this.#isEnding && !this.#isGone ? this.#end(1) : this.#finish(TERM_MS, false)));
    }
    const code = await ended;
    await Promise.all(this.#written);
    return code;
  }

  /** Takes nothing more, and ends once the work is done or the time is over. */
  #finish(most: number, isGone = true): void {
    this.#isEnding = true;
    if (isGone) {
      this.#isGone = true;
      if (!this.#frames.isEmpty) console.error("systole-sdk: stdin ended inside of a document");
      for (const question of this.#questions.values()) question.stop(new Error(GONE));
    } else this.#waiting.length = 0;
    this.#settle();
    setTimeout(() => {
      console.error(`systole-sdk: ended with open work: ${[...this.#jobs.keys()].join(", ") || "nothing is open"}`);
      this.#end(1);
    }, most).unref();
  }

  #settle(): void {
    while (this.#waiting.length > 0 && this.#jobs.size + this.#ignored < this.#concurrency) {
      const next = this.#waiting.shift();
      if (next) this.#start(next);
    }
    if (this.#isEnding && this.#jobs.size === 0 && this.#waiting.length === 0) this.#end(0);
    if (this.#ignored >= this.#concurrency) {
      console.error("systole-sdk: all places have work that was called back and goes on: the program ends");
      this.#end(1);
    }
  }

  #read(chunk: Buffer): void {
    let documents: Buffer[];
    try {
      documents = this.#frames.feed(chunk);
    } catch (error) {
      console.error("systole-sdk:", error);
      return this.#end(1);
    }
    for (const document of documents) if (document.length > 0) this.#take(document);
  }

  #take(document: Buffer): void {
    try {
      const element = parseXml(document);
      if (element.is(ENVELOPE, "message")) this.#takeDelivery(new Envelope(element));
      else if (element.is(LISTENER, "answer")) this.#questions.get(nameQuestion(element.get("delivery"), readCount(element.get("id"))))?.take(element);
      else if (element.is(LISTENER, "cancel")) this.#cancel(element.get("delivery") ?? "");
      else console.error(`systole-sdk: a document <${element.name}> of ${element.namespace} is unknown and skipped`);
    } catch (error) {
      console.error(`systole-sdk: a document is skipped: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #takeDelivery(envelope: Envelope): void {
    const isKnown = this.#jobs.has(envelope.delivery) || this.#waiting.some((one) => one.delivery === envelope.delivery);
    if (isKnown || (this.#isEnding && !this.#isGone)) return;
    this.#waiting.push(envelope);
    this.#settle();
  }

  #start(envelope: Envelope): void {
    const delivery = envelope.delivery;
    const job = startJob(this.#handlers, envelope, this.#carrier(delivery));
    this.#jobs.set(delivery, job);
    void job.reply.then((document) => {
      if (this.#jobs.get(delivery) !== job) this.#ignored--;
      else this.#reply(job, job.isCancelled ? writeCancelled(delivery) : document);
      this.#settle();
    });
  }

  #reply(job: Job, document: string): void {
    this.#jobs.delete(job.delivery);
    this.#send(document);
  }

  #cancel(delivery: string): void {
    const waits = this.#waiting.findIndex((one) => one.delivery === delivery);
    if (waits >= 0) {
      this.#waiting.splice(waits, 1);
      return this.#send(writeCancelled(delivery));
    }
    const job = this.#jobs.get(delivery);
    if (!job || job.isCancelled) return;
    job.cancel();
    setTimeout(() => {
      if (this.#jobs.get(delivery) !== job) return;
      this.#ignored++;
      this.#reply(job, writeCancelled(delivery));
      this.#settle();
    }, CANCEL_MS).unref();
  }

  #send(document: string): void {
    const written = this.#write(this.#frames.frame(document));
    this.#written.add(written);
    void written.then(() => this.#written.delete(written));
  }

  #carrier(delivery: string): Carrier {
    return {
      progress: (document) => this.#send(document),
      notice: async (document) => this.#send(document),
      ask: (id, document) => {
        if (this.#isGone) throw new Error(GONE);
        const name = nameQuestion(delivery, id);
        const answered = new Promise<Element>((take, stop) => this.#questions.set(name, { take, stop }));
        this.#send(document);
        return answered.finally(() => this.#questions.delete(name));
      },
    };
  }
}

function nameQuestion(delivery: string | undefined, id: number): string {
  return `${id} ${delivery ?? ""}`;
}
