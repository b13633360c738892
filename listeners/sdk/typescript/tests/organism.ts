// A real organism in a folder of its own, with the worker of these tests as a program or over NATS.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { WORKER } from "./pump.ts";

/** The program under test beside: `SYSTOLE`, or `systole` on PATH. */
export const SYSTOLE = process.env["SYSTOLE"] ?? "systole";

export interface Worker { readonly child: ChildProcess; stderr: string; readonly exited: Promise<number | null> }

export class Organism {
  readonly folder = mkdtempSync(join(tmpdir(), "systole-ts-"));
  child: ChildProcess | undefined;
  output = "";
  #wakes: (() => void)[] = [];
  readonly #workers: ChildProcess[] = [];
  readonly #program: string;
  readonly ledger: string;

  constructor(options: { readonly nats?: boolean; readonly inFlight?: number; readonly more?: string; readonly isDangerous?: boolean; readonly program?: string; readonly ledger?: string; readonly keys?: string } = {}) {
    this.ledger = options.ledger ?? join(this.folder, "ledger");
    this.#program = options.program ?? WORKER;
    const keys = options.keys ?? (options.nats ? "idle: 10s" : "");
    const reached = `${options.nats ? "nats: true" : `run: [${process.execPath}, ${this.#program}], env: {LEDGER: "${this.ledger}"}`}${keys && `, ${keys}`}`;
    const schema = readFileSync(new URL("./conform.xsd", import.meta.url), "utf8");
    const dangerous = '<xs:element name="task" systole:dangerous="true" xmlns:systole="urn:systole:schema:v1"';
    writeFileSync(join(this.folder, "conform.xsd"), options.isDangerous ? schema.replace('<xs:element name="task"', dangerous) : schema);
    writeFileSync(
      join(this.folder, "organism.yaml"),
      `organism: {name: judged, entry: worker}\n${options.nats ? "bus: {nats: managed}\n" : ""}listeners:\n` +
        `  worker: {${reached}, schema: conform.xsd, accepts: [task], returns: [done], turns: 4, peers: [peer], entry: true, in_flight: ${options.inFlight ?? 16}}\n` +
        `  peer: {run: [${process.execPath}, ${WORKER}], schema: conform.xsd, accepts: [task], returns: [done], in_flight: 16}\n${options.more ?? ""}`,
    );
  }

  get log(): string {
    return join(this.folder, "organism.db");
  }

  get nats(): string {
    return join(this.folder, "organism.db.nats");
  }

  /** The process of the managed broker. */
  findBroker(): number {
    const ours = join(this.nats, "nats.conf");
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      try {
        if (readFileSync(join("/proc", pid, "cmdline"), "utf8").split("\0").includes(ours)) return Number(pid);
      } catch { /* It is gone already. */ }
    }
    throw new Error(`no process has ${ours}`);
  }

  async start(): Promise<void> {
    this.output = "";
    this.child = spawn(SYSTOLE, ["run", "--set", "console.listen=127.0.0.1:0"], { cwd: this.folder, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        this.output += chunk.toString();
        for (const wake of this.#wakes.splice(0)) wake();
      });
    }
    this.child.on("close", () => { for (const wake of this.#wakes.splice(0)) wake(); });
    await this.says(/its log is/);
  }

  async says(words: RegExp): Promise<void> {
    while (!words.test(this.output)) {
      if (this.child?.exitCode !== null) throw new Error(`the organism ended without ${words}:\n${this.output}`);
      await new Promise<void>((resolve) => this.#wakes.push(resolve));
    }
  }

  /** A worker over NATS. */
  work(env: { readonly [name: string]: string } = {}): Worker {
    const broker = existsSync(join(this.nats, "address")) ? readFileSync(join(this.nats, "address"), "utf8").trim() : "";
    const child = spawn(process.execPath, [this.#program], {
      env: {
        ...process.env, SYSTOLE_NATS: broker, SYSTOLE_ORGANISM: "judged", SYSTOLE_LISTENER: "worker",
        SYSTOLE_KEY_FILE: join(this.nats, "keys/worker.nk"), SYSTOLE_SLOTS: "16", LEDGER: this.ledger, ...env,
      },
      stdio: ["ignore", "inherit", "pipe"],
    });
    this.#workers.push(child);
    const worker: Worker = { child, stderr: "", exited: once(child, "close").then(([code]: (number | null)[]) => code ?? null) };
    child.stderr?.on("data", (chunk: Buffer) => (worker.stderr += chunk.toString()));
    return worker;
  }

  /** Runs a command in the folder, and gives what it printed. */
  async run(...args: string[]): Promise<string> {
    try {
      return (await promisify(execFile)(SYSTOLE, args, { cwd: this.folder, maxBuffer: 64 << 20 })).stdout;
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      throw new Error(`systole ${args.slice(0, 6).join(" ").slice(0, 200)}: ${stdout}${stderr}`);
    }
  }

  /** Sends a task, and gives the text of its answer. */
  async ask(work: string, text: string, ...more: string[]): Promise<string> {
    return this.run("send", "task", `@do=${work}`, `.=${text}`, ...more, "--to", "worker");
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (!this.child || this.child.exitCode !== null || this.child.signalCode !== null) return;
    const closed = once(this.child, "close");
    this.child.kill(signal);
    await closed;
  }

  async end(): Promise<void> {
    for (const child of this.#workers) child.kill("SIGKILL");
    await this.stop();
  }
}
