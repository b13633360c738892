// The client against a real organism: through cuts of its connection and restarts, and what persons decide.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Client, Problem, Unanswered, Unreached } from "../systole_sdk/client.ts";
import { Operations } from "../systole_sdk/operations.ts";
import { Organism } from "./organism.ts";
import { Done, Task } from "./samples/conform.ts";

async function open(context: TestContext, options: ConstructorParameters<typeof Organism>[0] = {}): Promise<{ organism: Organism; client: Client }> {
  const organism = new Organism(options);
  context.after(() => organism.end());
  await organism.start();
  return { organism, client: new Client(undefined, undefined, { log: organism.log }) };
}

/** Passes bytes on to the door of an organism, and cuts every connection on demand. */
class Cutter {
  readonly log = join(mkdtempSync(join(tmpdir(), "systole-ts-")), "cut.db");
  readonly #sockets = new Set<Socket>();
  readonly #organism: Organism;
  readonly #server = createServer((socket) => this.#pass(socket));
  cuts = 0;

  constructor(organism: Organism) {
    this.#organism = organism;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  #read(): { readonly address: string; readonly token: string } {
    return JSON.parse(readFileSync(`${this.#organism.log}.run`, "utf8")) as { address: string; token: string };
  }

  /** The run file that leads clients here: a restarted organism has another token. */
  write(): void {
    const { port } = this.#server.address() as { port: number };
    writeFileSync(`${this.log}.run`, JSON.stringify({ address: `127.0.0.1:${port}`, token: this.#read().token }));
  }

  #pass(socket: Socket): void {
    const [host, port] = existsSync(`${this.#organism.log}.run`) ? this.#read().address.split(":") : ["127.0.0.1", "1"];
    const door = connect(Number(port), host);
    for (const [from, to] of [[socket, door], [door, socket]] as const) {
      this.#sockets.add(from);
      from.on("error", () => to.destroy()).on("close", () => { this.#sockets.delete(from); to.destroy(); }).pipe(to);
    }
  }

  cut(): void {
    this.cuts++;
    for (const socket of this.#sockets) socket.destroy();
  }

  end(): void {
    this.#server.close();
    this.cut();
  }
}

test("each operation of the door is a method or has a reason, and what is written is as it would be written", () => {
  const made = spawnSync(process.execPath, ["make_client.ts", "--check"], { encoding: "utf8" });
  assert.equal(`${made.status} ${made.stderr}`, "0 ");
  const described = JSON.parse(readFileSync(new URL("../../../../schemas/openapi.json", import.meta.url), "utf8")) as { paths: { [path: string]: { [method: string]: { operationId: string } } } };
  const named = Object.values(described.paths).flatMap((path) => Object.values(path).map((one) => one.operationId));
  const reasons = readFileSync(new URL("../systole_sdk/operations.ts", import.meta.url), "utf8");
  const left = named.filter((name) => !Object.getOwnPropertyNames(Operations.prototype).includes(name) && !reasons.includes(`//   ${name}: `));
  assert.deepEqual(left, []);
});

test("a message is answered, fails, or is not done in time", async (context) => {
  const { client } = await open(context);
  assert.equal((await client.ask(Task({ text: "hi" }), { returns: Done })).text, "hi");
  await assert.rejects(client.ask(Task({ do: "fail", code: "own.no", text: "never" }), { returns: Done }), (error: Unanswered) => /never/.test(error.message) && error.result?.outcome !== "open");
  const slow = await client.send(Task({ do: "sleep", n: 60_000n, text: "z" }));
  await assert.rejects(client.wait(slow, { returns: Done, timeout: 0.5 }), (error: Unanswered) => error.code === "client.timeout");
  await client.cancelThread(slow.thread);
  await assert.rejects(client.wait(slow, { returns: Done }), Unanswered);
  await assert.rejects(client.send(Task({ text: "x" }), { to: "none" }), (error: Problem) => error.status >= 400 && error.words !== "undefined");
  const twice = [await client.send(Task({ text: "t" }), { key: "k" }), await client.send(Task({ text: "t" }), { key: "k" })];
  assert.deepEqual([twice[0]?.thread === twice[1]?.thread, twice[1]?.receipt?.repeated], [true, true]);
  const status = await client.status();
  assert.deepEqual([status.organism, (await client.thread(slow.thread)).thread], ["judged", slow.thread]);
});

test("a subject is in the letters of its language, and one that no header can carry is refused at once", async (context) => {
  const { client } = await open(context);
  for (const subject of ["plain", "voil\u00e0", "Gr\u00fc\u00dfe \u2013 \u6771\u4eac \u{1F600}"]) {
    const sent = await client.send(Task({ text: "t" }), { subject });
    await client.wait(sent, { returns: Done });
    assert.equal((await client.threads()).threads.find((one) => one.thread === sent.thread)?.subject, subject);
  }
  await assert.rejects(client.send(Task({ text: "t" }), { subject: "two\nlines" }), TypeError);
});

test("through 100 cuts and 10 restarts each record comes once and in order, and each message is sent once", async (context) => {
  const organism = new Organism();
  const cutter = new Cutter(organism);
  context.after(async () => { cutter.end(); await organism.end(); });
  await organism.start();
  await cutter.listen();
  cutter.write();
  const client = new Client(undefined, undefined, { log: cutter.log, patience: 60 });
  const seen: number[] = [];
  let wake = (): void => {};
  const stop = new AbortController();
  const followed = (async () => { for await (const event of client.events({ from: 0, signal: stop.signal })) if ("position" in event) { seen.push(event.position); wake(); } })();
  const reach = async (position: number): Promise<void> => { while (seen.length < position) await new Promise<void>((resolve) => (wake = resolve)); };
  for (let round = 0; round < 10; round++) {
    for (let at = 0; at < 10; at++) {
      const asked = client.ask(Task({ text: `${round}.${at}` }), { returns: Done });
      setTimeout(() => cutter.cut(), (at * 13) % 40);
      assert.equal((await asked).text, `${round}.${at}`);
    }
    await organism.stop(round % 2 === 0 ? "SIGKILL" : "SIGTERM");
    await organism.start();
    cutter.write();
  }
  const { position } = await client.status();
  await reach(position);
  assert.deepEqual(seen.slice(0, position), Array.from({ length: position }, (_, at) => at + 1));
  assert.ok(cutter.cuts >= 100);
  const found = await client.threads({ limit: 200 });
  assert.equal(found.threads.length, 100);
  stop.abort();
  await followed;
});

test("patience begins with a cut, however long the answer was waited for", async (context) => {
  const organism = new Organism();
  const cutter = new Cutter(organism);
  context.after(async () => { cutter.end(); await organism.end(); });
  await organism.start();
  await cutter.listen();
  cutter.write();
  const client = new Client(undefined, undefined, { log: cutter.log, patience: 1 });
  const asked = client.ask(Task({ do: "sleep", n: 7_000n, text: "long" }), { returns: Done });
  for (const at of [2_000, 4_000]) setTimeout(() => cutter.cut(), at);
  assert.equal((await asked).text, "long");
});

test("only the payload that was read is approved", async (context) => {
  const { client } = await open(context, { isDangerous: true });
  const decide = async (): Promise<[Awaited<ReturnType<Client["send"]>>, Parameters<Client["approve"]>[0]]> => {
    const sent = await client.send(Task({ text: "danger" }));
    for (;;) {
      const waiting = (await client.approvals()).approvals.find((one) => one.kind === "approval");
      if (waiting?.kind === "approval") return [sent, waiting];
    }
  };
  const [sent, waiting] = await decide();
  await assert.rejects(client.approve({ ...waiting, hash: "0".repeat(64) }), (error: Problem) => error.code === "approval.mismatch");
  await client.approve(waiting, "fine");
  assert.equal((await client.wait(sent, { returns: Done })).text, "danger");
  await assert.rejects(client.reject(waiting, "too late"), (error: Problem) => error.code === "approval.decided");
  const [second, read] = await decide();
  await client.amend(read, Task({ text: "harmless" }), "softer");
  assert.equal((await client.wait(second, { returns: Done })).text, "harmless");
});

test("without an organism, a token or an address the client says so", async () => {
  await assert.rejects(new Client(undefined, undefined, { log: "/none/no.db", patience: 0 }).status(), (error: Unreached) => /no organism runs on this log; try: systole run/.test(error.message));
  await assert.rejects(new Client("http://127.0.0.1:1", "t", { patience: 0 }).status(), Unreached);
  await assert.rejects(new Client().status(), /0 run files of an organism are here: give the url/);
  assert.throws(() => new Client("http://127.0.0.1:1"), /needs a token/);
  assert.throws(() => new Client("127.0.0.1:1", "t"), /is not the address of an organism/);
});
