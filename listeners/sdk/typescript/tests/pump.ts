// The pump's side of a pipe: starts a program, hands it deliveries, and reads what it writes.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { LISTENER } from "../systole_sdk/documents.ts";
import { type Element, escapeText, parseXml } from "../systole_sdk/xml.ts";

export const CONFORM = "https://xml-pipeline.org/ns/conform/v1";
export const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));

let count = 0;
const started = new Set<ChildProcess>();
after(() => { for (const child of started) child.kill("SIGKILL"); });

/** What a delivery is made of. */
export interface Given {
  readonly delivery?: string;
  readonly key?: string;
  readonly turn?: number;
  readonly attempt?: number;
  readonly journal?: number;
  readonly sender?: string;
  readonly thread?: string;
  readonly payload?: string;
  readonly meta?: string;
}

/** A delivery, and its name. */
export function makeDelivery(given: Given): { name: string; document: string } {
  const name = given.delivery ?? `d${++count}`;
  const journal = given.journal === undefined ? "" : ` journal="${given.journal}"`;
  const stamp =
    `<stamp xmlns="urn:systole:stamp:v1" id="i1" seq="1" call="1" turn="${given.turn ?? 1}" delivery="${name}" ` +
    `attempt="${given.attempt ?? 1}" key="${given.key ?? `k-${name}`}" request="1"${journal}/>`;
  const meta = `<meta><from>${given.sender ?? "operator"}</from><to>worker</to><thread>${given.thread ?? "sess-0123456789ab"}</thread>${stamp}${given.meta ?? ""}</meta>`;
  return { name, document: `<message xmlns="https://xml-pipeline.org/ns/envelope/v1">${meta}${given.payload ?? makeTask("echo")}</message>` };
}

export function makeTask(work: string, text = "text", more = ""): string {
  return `<task xmlns="${CONFORM}" do="${work}"${more}>${escapeText(text)}</task>`;
}

/** Writes a program of its own, and gives its file. */
export function writeProgram(body: string, options = ""): string {
  const file = join(mkdtempSync(join(tmpdir(), "systole-ts-")), "program.mts");
  const from = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
  const imports = `import { Again, Fail, listener, run } from ${from("../systole_sdk/index.ts")};\nimport { Done, Task } from ${from("./samples/conform.ts")};\nimport { EverythingLine } from ${from("./samples/kinds.ts")};\n`;
  writeFileSync(file, `${imports}${body}\nrun(${options});\n`);
  return file;
}

export class Program {
  readonly child: ChildProcess;
  readonly withLength: boolean;
  /** Everything that it wrote, and everything that it said. */
  raw = "";
  stderr = "";
  readonly documents: Element[] = [];
  readonly exited: Promise<number | null>;
  #wakes: (() => void)[] = [];

  constructor(options: { readonly withLength?: boolean; readonly env?: { readonly [name: string]: string }; readonly file?: string; readonly node?: string } = {}) {
    this.withLength = options.withLength ?? false;
    const env = { ...process.env, SYSTOLE_PROTOCOL: "1", SYSTOLE_MODE: "stay", SYSTOLE_LISTENER: "worker", ...options.env };
    this.child = spawn(options.node ?? process.execPath, [options.file ?? WORKER], { env, stdio: ["pipe", "pipe", "pipe"] });
    started.add(this.child);
    this.child.stdin?.on("error", () => {});
    let rest = Buffer.alloc(0);
    this.child.stdout?.on("data", (chunk: Buffer) => {
      rest = this.#cut(Buffer.concat([rest, chunk]));
      this.#wakeAll();
    });
    this.child.stderr?.on("data", (chunk: Buffer) => {
      this.stderr += chunk.toString();
      this.#wakeAll();
    });
    this.exited = once(this.child, "close").then(([code]: (number | null)[]) => {
      this.#wakeAll();
      return code ?? null;
    });
  }

  #wakeAll(): void {
    for (const wake of this.#wakes.splice(0)) wake();
  }

  #cut(bytes: Buffer): Buffer<ArrayBuffer> {
    for (;;) {
      const end = bytes.indexOf(10);
      if (end < 0) return Buffer.from(bytes);
      const until = this.withLength ? end + 1 + Number(bytes.subarray(0, end).toString()) : end;
      if (until > bytes.length) return Buffer.from(bytes);
      const document = bytes.subarray(this.withLength ? end + 1 : 0, until).toString();
      this.raw += document;
      this.documents.push(parseXml(document));
      bytes = bytes.subarray(this.withLength ? until : end + 1);
    }
  }

  frame(document: string): Buffer {
    return Buffer.from(this.withLength ? `${Buffer.byteLength(document)}\n${document}` : `${document}\n`);
  }

  write(...documents: string[]): void {
    this.child.stdin?.write(Buffer.concat(documents.map((one) => this.frame(one))));
  }

  /** Hands it a delivery, and gives its name. */
  send(given: Given): string {
    const { name, document } = makeDelivery(given);
    this.write(document);
    return name;
  }

  cancel(delivery: string): void {
    this.write(`<cancel xmlns="${LISTENER}" delivery="${delivery}"/>`);
  }

  /** Answers a question with what is inside. */
  answer(asked: Element, inside: string): void {
    this.write(`<answer xmlns="${LISTENER}" id="${asked.get("id")}" delivery="${asked.get("delivery")}">${inside}</answer>`);
  }

  /** Waits for a document that fits. */
  async wait(fits: (document: Element) => boolean): Promise<Element> {
    for (;;) {
      const found = this.documents.findIndex(fits);
      if (found >= 0) return this.documents.splice(found, 1)[0] as Element;
      if (this.child.exitCode !== null || this.child.signalCode !== null) throw new Error(`the program ended: ${this.stderr}`);
      await new Promise<void>((resolve) => this.#wakes.push(resolve));
    }
  }

  async reply(delivery: string): Promise<Element> {
    return this.wait((one) => one.name === "reply" && one.get("delivery") === delivery);
  }

  /** Waits for a question, or a journal entry. */
  async asked(name: string): Promise<Element> {
    return this.wait((one) => (one.name === "ask" ? one.elements[0]?.name === name : one.name === "journal" && name === one.get("kind")));
  }

  async says(words: RegExp): Promise<void> {
    while (!words.test(this.stderr)) {
      if (this.child.exitCode !== null) throw new Error(`the program ended without ${words}: ${this.stderr}`);
      await new Promise<void>((resolve) => this.#wakes.push(resolve));
    }
  }

  /** Ends stdin, and gives the exit code. */
  async end(): Promise<number | null> {
    this.child.stdin?.end();
    return this.exited;
  }
}
