// Payments by `turn.once` through kills of the worker, the organism and the broker: each is paid once, and answered.
// `SYSTOLE_CASES` sets the number of payments; a fifth as many kills come with them, most of them of the worker.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Client } from "../systole_sdk/client.ts";
import { Draw } from "./draw.ts";
import { Organism, type Worker } from "./organism.ts";
import { Done, Task } from "./samples/conform.ts";

const PAYMENTS = Number(process.env["SYSTOLE_CASES"] ?? 30);
const SENDERS = 8;
const PAYER = fileURLToPath(new URL("./payer.ts", import.meta.url));
const later = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A ledger that knows keys: the same key is the same payment. It takes a while before and after it pays. */
class Ledger {
  readonly paid = new Map<string, string>();
  calls = 0;
  pid = 0;
  readonly #draw = new Draw(46);
  readonly #wakes: (() => void)[] = [];
  readonly #server = createServer((request, response) => {
    void (async () => {
      const amount = (await request.toArray()).join("");
      const key = decodeURIComponent(request.url?.slice(1) ?? "");
      this.calls++;
      this.pid = Number(request.headers["x-pid"]);
      for (const wake of this.#wakes.splice(0)) wake();
      await later(this.#draw.below(20));
      if (!this.paid.has(key)) this.paid.set(key, amount);
      await later(this.#draw.below(20));
      response.end(`paid ${this.paid.get(key)} for ${key}`);
    })();
  });

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  /** Waits for the next call. */
  async called(): Promise<void> {
    await new Promise<void>((resolve) => this.#wakes.push(resolve));
  }

  end(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

async function pay(context: TestContext, nats: boolean): Promise<void> {
  const ledger = new Ledger();
  const keys = `on_unknown: retry, retry: {attempts: 100}${nats ? ", idle: 3s" : ""}`;
  const organism = new Organism({ nats, inFlight: 4, program: PAYER, ledger: await ledger.listen(), keys });
  context.after(async () => { await organism.end(); ledger.end(); });
  await organism.start();
  const work = (): Worker => organism.work({ SYSTOLE_SLOTS: "2", LEDGER: organism.ledger });
  const workers = nats ? [work(), work()] : [];
  const client = new Client(undefined, undefined, { log: organism.log, patience: 120 });
  const answers = new Map<number, Done>();
  const wakes: (() => void)[] = [];
  const answered = async (): Promise<void> => new Promise<void>((resolve) => wakes.push(resolve));
  let next = 0;
  const senders = Array.from({ length: SENDERS }, async () => {
    for (let number = next++; number < PAYMENTS; number = next++) {
      answers.set(number, await client.ask(Task({ text: `${number}` }), { returns: Done, key: `payment-${number}` }));
      for (const wake of wakes.splice(0)) wake();
    }
  });
  const done = Promise.all(senders);
  let kills = 0;
  for (const draw = new Draw(7); kills < PAYMENTS / 5; kills++) {
    // After five deaths without an answer a listener is down, so an answer comes between two kills.
    const isOver = await Promise.race([done.then(() => true), answered().then(() => ledger.called()).then(() => false)]);
    if (isOver) break;
    await later(draw.below(40));
    const fate = draw.below(5);
    if (fate === 0) {
      // Its managed broker ends with it.
      await organism.stop("SIGKILL");
      await organism.start();
    } else if (nats && fate === 1) {
      process.kill(organism.findBroker(), "SIGKILL");
    } else if (nats) {
      const at = draw.below(workers.length);
      workers[at]?.child.kill("SIGKILL");
      await workers[at]?.exited;
      workers[at] = work();
    } else {
      try { process.kill(ledger.pid, "SIGKILL"); } catch { /* It is gone already. */ }
    }
  }
  await done;
  context.diagnostic(`${PAYMENTS} payments, ${kills} kills, ${ledger.calls - ledger.paid.size} repeated calls with a known key`);
  assert.ok(kills >= 3);
  assert.deepEqual([...ledger.paid.values()].map(Number).sort((a, b) => a - b), Array.from({ length: PAYMENTS }, (_, at) => at));
  for (const [key, amount] of ledger.paid) assert.equal(answers.get(Number(amount))?.text, `paid ${amount} for ${key}`);
}

test("each is paid once over stdin", (context) => pay(context, false));
test("each is paid once over NATS", (context) => pay(context, true));
