// Testing: a listener without an organism (`trial`), an organism as it runs (`organism`), and the organism's own tests.
//
//     const reply = await trial(weather).send(Weather({ city: "Rome" }));
//     assert.deepEqual(reply.payload, WeatherAnswer({ text: "Sunny in Rome" }));
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "./client.ts";

export { type Answered, Trial, trial, type TrialOptions, TrialReply } from "./trial.ts";

/** The program is `SYSTOLE`, else `systole` on the PATH. */
const findProgram = (program: string | undefined): string => program ?? process.env["SYSTOLE"] ?? "systole";
const LOG = "organism.db";
const LOOK_MS = 50;

/** The operator's client of an organism that a test started. `stop` ends the organism. */
export class OrganismClient extends Client {
  readonly #folder: string;
  readonly #process: ChildProcess;
  readonly #patience: number;
  readonly #ended: Promise<void>;
  said = "";

  constructor(folder: string, process: ChildProcess, patience: number) {
    super(undefined, undefined, { log: join(folder, LOG) });
    this.#folder = folder;
    this.#process = process;
    this.#patience = patience;
    this.#ended = new Promise((resolve) => process.on("close", () => resolve()).on("error", (error) => { this.said += error.message; resolve(); }));
    for (const stream of [process.stdout, process.stderr]) stream?.on("data", (chunk: Buffer) => (this.said += chunk.toString()));
  }

  /** Waits until it answers. */
  async reach(): Promise<this> {
    let hasEnded = false;
    void this.#ended.then(() => (hasEnded = true));
    for (const until = performance.now() + this.#patience * 1_000; performance.now() < until && !hasEnded; await sleep(LOOK_MS)) {
      if (existsSync(join(this.#folder, `${LOG}.run`)) && (await this.status().then(() => true, () => false))) return this;
    }
    await this.stop();
    throw new Error(`the organism did not start: ${this.said.trim()}`);
  }

  /** Ends the organism, and removes its log. */
  async stop(): Promise<void> {
    this.#process.kill("SIGTERM");
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), this.#patience * 1_000);
    await this.#ended;
    clearTimeout(timer);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** How an organism is started. */
export interface OrganismOptions {
  readonly set?: { readonly [key: string]: string };
  readonly program?: string;
  /** Seconds to start, and to end. */
  readonly patience?: number;
}

/** Runs an organism on a log of its own, and gives the operator's client: `after(() => client.stop())`. */
export async function organism(file = "organism.yaml", options: OrganismOptions = {}): Promise<OrganismClient> {
  const folder = mkdtempSync(join(tmpdir(), "systole-"));
  const set = Object.entries({ "console.listen": "127.0.0.1:0", ...options.set }).flatMap(([key, value]) => ["--set", `${key}=${value}`]);
  const words = ["run", "-f", file, "--log", join(folder, LOG), ...set];
  const child = spawn(findProgram(options.program), words, { stdio: ["ignore", "pipe", "pipe"] });
  return new OrganismClient(folder, child, options.patience ?? 30).reach();
}

/** One test of the organism's own test files, and how it went. */
export class Case {
  readonly name: string;
  readonly file: string;
  readonly failure: string | undefined;

  constructor(name: string, file: string, failure: string | undefined) {
    this.name = name;
    this.file = file;
    this.failure = failure;
  }

  /** Fails as the test did. */
  check(): void {
    if (this.failure !== undefined) throw new Error(`${this.file}: ${this.name}: ${this.failure}`);
  }
}

/** Runs `systole test`, and gives its cases: `for (const one of organismTests()) test(one.name, () => one.check())`. */
export function organismTests(paths: readonly string[] = ["."], options: { readonly program?: string } = {}): Case[] {
  const done = spawnSync(findProgram(options.program), ["test", "--json", ...paths], { stdio: ["ignore", "pipe", "pipe"], encoding: "utf8", maxBuffer: 256 << 20 });
  const said = (done.stdout ?? "").split("\n").filter(Boolean).map((line) => JSON.parse(line) as { test?: string; file?: string; passed?: boolean; failure?: unknown });
  const cases = said.flatMap(({ test, file = "", passed, failure }) => {
    if (test === undefined) return [];
    return [new Case(test, file, passed ? undefined : typeof failure === "string" ? failure : JSON.stringify(failure))];
  });
  if (done.status !== 0 && !cases.some((one) => one.failure !== undefined)) {
    cases.push(new Case("systole test", paths.join(", "), done.error?.message ?? ((done.stderr ?? "").trim() || `exit ${done.status}`)));
  }
  return cases;
}
