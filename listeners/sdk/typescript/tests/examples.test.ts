// The examples of the pages, in a folder of their own with what `systole sdk typescript` writes: they have no fault of
// types, their tests pass, and the client prints what the page says.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { SYSTOLE } from "./organism.ts";

const HERE = fileURLToPath(new URL("..", import.meta.url));

function prepare(): { folder: string; run(program: string, ...args: string[]): string } {
  const folder = mkdtempSync(join(tmpdir(), "systole-ts-"));
  cpSync(join(HERE, "examples"), folder, { recursive: true });
  const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`, NODE_TEST_CONTEXT: undefined, SYSTOLE, NO_COLOR: "1" };
  const run = (program: string, ...args: string[]): string => {
    const done = spawnSync(program, args, { cwd: folder, env, encoding: "utf8" });
    assert.equal(done.status, 0, `${program} ${args.join(" ")}: ${done.error?.message ?? ""}${done.stdout}${done.stderr}`);
    return done.stdout;
  };
  run(SYSTOLE, "sdk", "typescript");
  cpSync(join(HERE, "systole_sdk"), join(folder, "sdk/typescript/systole_sdk"), { recursive: true });
  return { folder, run };
}

test("the examples have no fault of types, and their tests pass", () => {
  const { folder, run } = prepare();
  symlinkSync(join(HERE, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "tsconfig.check.json"), JSON.stringify({ extends: join(HERE, "tsconfig.json"), include: ["*.mts", "listeners/*.mts", "tests/*.mts"] }));
  run(process.execPath, join(HERE, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.check.json");
  // What an author has may be less strict, and older: the sources of the SDK are checked with it.
  const own = { target: "es2022", module: "nodenext", strict: true, noEmit: true, types: ["node"], allowImportingTsExtensions: true };
  writeFileSync(join(folder, "tsconfig.own.json"), JSON.stringify({ compilerOptions: own, include: ["*.mts", "listeners/*.mts", "tests/*.mts", "sdk/**/*.ts"] }));
  run(process.execPath, join(HERE, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.own.json");
  assert.match(run(process.execPath, "--test", "tests/listeners.test.mts", "tests/organism.test.mts"), /pass 4\n.*fail 0\n/);
});

test("the client of the page asks, approves and follows", async (context) => {
  const { folder, run } = prepare();
  const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}` };
  const organism = spawn(SYSTOLE, ["run", "--set", "console.listen=127.0.0.1:0"], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(organism, "close");
  context.after(async () => { organism.kill("SIGTERM"); await ended; });
  await new Promise<void>((resolve, reject) => {
    let said = "";
    const hear = (chunk: Buffer): void => { if ((said += chunk.toString()).includes("its log is")) resolve(); };
    organism.stdout.on("data", hear);
    organism.stderr.on("data", hear);
    organism.on("error", reject).on("close", () => reject(new Error(said)));
  });
  const printed = run(process.execPath, "client.mts").split("\n");
  assert.deepEqual([printed[0], printed[2]], ["21 degrees in Rome", "umbrella: 21 degrees in Rome"]);
  assert.match(printed[1] ?? "", /^listener\.failed: thread sess-\S+: failed: .*weather\.unknown-city: Atlantis has no station/);
});

test("what `listener new` writes is what the page shows, and its test passes", () => {
  const { folder, run } = prepare();
  run(SYSTOLE, "init", "hello");
  const fresh = join(folder, "hello");
  run(SYSTOLE, "listener", "new", "typescript", "weather", "-C", fresh);
  assert.equal(readFileSync(join(fresh, "listeners/weather.mts"), "utf8"), readFileSync(join(HERE, "examples/new/weather.mts"), "utf8"));
  assert.match(run(SYSTOLE, "test", "-C", fresh, "listeners/weather.test.yaml"), /^ok .*weather answers/);
});
