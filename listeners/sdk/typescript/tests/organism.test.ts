// Real organisms: sixteen deliveries at once over stdin and over NATS, a started one, and an organism's own tests.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client, Unanswered } from "../systole_sdk/client.ts";
import { organism, organismTests } from "../systole_sdk/testing.ts";
import { Organism } from "./organism.ts";
import { Done, Task } from "./samples/conform.ts";

/** Of sixteen at once one hangs, one throws, one is cancelled: the rest is answered. */
async function workSixteen(client: Client): Promise<void> {
  const [hung, slow] = [await client.send(Task({ do: "hang", text: "" })), await client.send(Task({ do: "sleep", n: 60_000n, text: "" }))];
  const thrown = await client.send(Task({ do: "throw", text: "bad luck" }));
  const others = await Promise.all(Array.from({ length: 13 }, (_, at) => client.send(Task({ do: "sleep", n: 300n, text: `${at}` }))));
  await client.cancelThread(slow.thread);
  const answers = await Promise.all(others.map((one) => client.wait(one, { returns: Done })));
  assert.deepEqual(answers.map((one) => one.text), others.map((_, at) => `${at}`));
  await assert.rejects(client.wait(thrown, { returns: Done }), (error: Unanswered) => /listener\.error: RangeError: bad luck/.test(error.message));
  await client.cancelThread(hung.thread);
  assert.equal((await client.ask(Task({ text: "alive" }), { returns: Done })).text, "alive");
  assert.equal((await client.ask(Task({ do: "call", n: 3n, text: "x" }), { returns: Done })).text, "x0x1x2");
  const paid = await client.ask(Task({ do: "once", text: "pay" }), { returns: Done, key: "pay" });
  assert.deepEqual(await client.ask(Task({ do: "once", text: "pay" }), { returns: Done, key: "pay" }), paid);
  const { records } = await client.records("sys");
  assert.deepEqual(records.map((one) => one.body).filter((body) => body.includes("<system-error")), []);
}

test("sixteen at once over stdin", async (context) => {
  const started = new Organism();
  context.after(() => started.end());
  await started.start();
  await workSixteen(new Client(undefined, undefined, { log: started.log }));
});

test("sixteen at once over NATS, with the rights of the organism's broker", async (context) => {
  const started = new Organism({ nats: true });
  context.after(() => started.end());
  await started.start();
  const worker = started.work();
  const client = new Client(undefined, undefined, { log: started.log });
  await workSixteen(client);
  assert.deepEqual((await client.workers()).workers, { worker: 1 });
  worker.child.kill("SIGTERM");
  await worker.exited;
  assert.doesNotMatch(worker.stderr, /Permissions|refused/);
});

test("a started organism is a client, and one that cannot start says why", async () => {
  const { folder } = new Organism();
  const client = await organism(join(folder, "organism.yaml"), { set: { "listeners.worker.in_flight": "2" } });
  try {
    assert.equal((await client.ask(Task({ text: "hi" }), { returns: Done })).text, "hi");
  } finally {
    await client.stop();
  }
  writeFileSync(join(folder, "organism.yaml"), "organism: {name: hello}\nlisteners: {a: {run: [x]}}\n");
  await assert.rejects(organism(join(folder, "organism.yaml")), /the organism did not start: .*listeners/s);
  await assert.rejects(organism("x.yaml", { program: "/none/systole" }), /did not start: .*ENOENT/s);
});

function writeCases(): string {
  const { folder } = new Organism();
  const cases = [["right", "hi"], ["wrong", "ho"]].map(([name, text]) => `  - name: ${name}\n    steps:\n      - send: {task: hi}\n        answer: done\n        xpath: /done = '${text}'\n`);
  writeFileSync(join(folder, "own.test.yaml"), `tests:\n${cases.join("")}`);
  return folder;
}

test("the tests of an organism are cases, and a broken file is one too", () => {
  const cases = organismTests([writeCases()]);
  assert.deepEqual(cases.map((one) => [one.name, one.failure === undefined]), [["right", true], ["wrong", false]]);
  cases[0]?.check();
  assert.throws(() => cases[1]?.check(), /wrong: /);
  const [broken] = organismTests(["/none"]);
  assert.throws(() => broken?.check(), /systole test: .+/);
});

const VITEST = new URL("../node_modules/vitest/vitest.mjs", import.meta.url);

/** A folder of tests in which a runner takes the cases. */
function writeTests(runner: string, file: string): string {
  const sdk = fileURLToPath(new URL("../systole_sdk/testing.ts", import.meta.url));
  const tests = mkdtempSync(join(tmpdir(), "systole-ts-"));
  writeFileSync(join(tests, "package.json"), '{"type":"module"}');
  symlinkSync(fileURLToPath(new URL("../node_modules", import.meta.url)), join(tests, "node_modules"));
  const cases = JSON.stringify([writeCases()]);
  writeFileSync(join(tests, file), `import { test } from "${runner}";\nimport { organismTests } from ${JSON.stringify(sdk)};\nfor (const one of organismTests(${cases})) test(one.name, () => one.check());\n`);
  return tests;
}

function run(cwd: string, ...args: string[]): string {
  const done = spawnSync(process.execPath, args, { cwd, encoding: "utf8", env: { ...process.env, NODE_TEST_CONTEXT: undefined, NO_COLOR: "1" } });
  return `${done.stdout}${done.stderr}`;
}

test("node:test takes the cases", () => {
  assert.match(run(writeTests("node:test", "cases.ts"), "--test", "cases.ts"), /pass 1\n.*fail 1\n/);
});

test("vitest takes the cases", { skip: existsSync(VITEST) ? false : "vitest is not installed" }, () => {
  assert.match(run(writeTests("vitest", "cases.test.ts"), "node_modules/vitest/vitest.mjs", "run", "--reporter=verbose"), /1 failed \| 1 passed/);
});
