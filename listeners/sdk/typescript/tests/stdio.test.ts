// A program over stdin and stdout, started as an organism starts it, in both framings.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CORE, LISTENER } from "../systole_sdk/documents.ts";
import { type Element, escapeText } from "../systole_sdk/xml.ts";
import { CONFORM, makeDelivery, makeTask, Program, WORKER, writeProgram } from "./pump.ts";

const textOf = (reply: Element): string | undefined => reply.find(CONFORM, "done")?.text;
const failureOf = (reply: Element): Element | undefined => reply.find(LISTENER, "failure");

for (const withLength of [false, true]) {
  const framing = withLength ? "length" : "lines";

  test(`${framing}: documents come whole, split inside characters and joined, and text stays the same`, async () => {
    const program = new Program({ withLength });
    const text = "\u{1F600}e\u0301\u05D0\u0085\u2028\uFFFD <&>\"' ]]> \t\r\n\n  ";
    const { name, document } = makeDelivery({ payload: makeTask("echo", text) });
    for (const byte of program.frame(document)) {
      program.child.stdin?.write(Buffer.of(byte));
      if (byte > 127) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(textOf(await program.reply(name)), text);
    const three = [1, 2, 3].map((at) => makeDelivery({ payload: makeTask("echo", `${at}`) }));
    program.write(...three.map((one) => one.document));
    for (const [at, one] of three.entries()) assert.equal(textOf(await program.reply(one.name)), `${at + 1}`);
    assert.ok(!/[\r\n]/.test(program.raw));
    assert.equal(await program.end(), 0);
  });

  test(`${framing}: prints do not reach the pump`, async () => {
    const program = new Program({ withLength });
    const name = program.send({ payload: makeTask("print", "<reply no line break") });
    assert.equal(textOf(await program.reply(name)), "<reply no line break");
    assert.equal(await program.end(), 0);
    assert.match(program.stderr, /no line breakand more/);
  });

  test(`${framing}: a delivery and the end of stdin at once are answered`, async () => {
    const program = new Program({ withLength });
    const { name, document } = makeDelivery({ payload: makeTask("sleep", "late", ' n="200"') });
    program.child.stdin?.end(program.frame(document));
    assert.equal(textOf(await program.reply(name)), "late");
    assert.equal(await program.exited, 0);
  });

  test(`${framing}: megabytes pass both ways, and a reader that is slow loses nothing`, async () => {
    const program = new Program({ withLength });
    program.child.stdout?.pause();
    const names = Array.from({ length: 20 }, (_, at) => program.send({ payload: makeTask("echo", `${at}`.padEnd(900_000, "\u00e9")) }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    program.child.stdout?.resume();
    for (const [at, name] of names.entries()) assert.equal(textOf(await program.reply(name)), `${at}`.padEnd(900_000, "\u00e9"));
    assert.equal(await program.end(), 0);
  });
}

test("prefixes, CDATA, comments and empty elements mean the same", async () => {
  const program = new Program();
  const texts: [string, string][] = [
    [`<t:task xmlns:t="${CONFORM}" do="echo">a</t:task>`, "a"],
    [`<task xmlns="${CONFORM}" do="echo"><![CDATA[a<]]>b<!-- c --><![CDATA[&]]></task>`, "a<b&"],
    [`<task xmlns="${CONFORM}" do="echo"/>`, ""],
    [`<task xmlns="${CONFORM}" do="echo"></task>`, ""],
    [`<task xmlns="${CONFORM}" do="echo" later="1"> <later xmlns=""/> </task>`, "  "],
  ];
  for (const [payload, text] of texts) assert.equal(textOf(await program.reply(program.send({ payload, meta: '<x xmlns="urn:x"/>' }))), text);
  assert.equal(await program.end(), 0);
});

test("failures, errors and again, and the program lives", async () => {
  const program = new Program();
  const ask = async (work: string, text: string, more = ""): Promise<Element> => program.reply(program.send({ payload: makeTask(work, text, more) }));
  const failed = failureOf(await ask("fail", "no <index>", ' code="search.offline"'));
  assert.deepEqual([failed?.get("code"), failed?.get("retry"), failed?.text], ["search.offline", undefined, "no <index>"]);
  assert.equal(failureOf(await ask("fail", "x", ' n="1"'))?.get("retry"), "true");
  const thrown = failureOf(await ask("throw", "too far\u0085"));
  assert.deepEqual([thrown?.get("code"), thrown?.get("retry"), thrown?.text], ["listener.error", undefined, "RangeError: too far\u0085"]);
  const again = (await ask("again", "once more", ' code="x.y"')).find(LISTENER, "again");
  assert.deepEqual([again?.get("code"), again?.text], ["x.y", "once more"]);
  assert.deepEqual((await ask("silent", "")).elements, []);
  const many = await ask("many", "m", ' n="3"');
  assert.deepEqual(many.elements.map((one) => [one.name, one.get("n")]), [["remark", "0"], ["remark", "1"], ["remark", "2"], ["done", "3"]]);
  const calls = await ask("call", "c", ' n="2"');
  assert.deepEqual(calls.elements.map((one) => [one.name, one.elements[0]?.elements.map((part) => `${part.name}=${part.text}`).join(), one.elements[1]?.text]),
    [["message", "to=peer", "c0"], ["message", "to=peer", "c1"]]);
  const bad = failureOf(await ask("bad", ""));
  assert.deepEqual([bad?.get("code"), bad?.text], ["listener.error", "Invalid: /done: character 1 is U+0001, which XML cannot carry"]);
  const large = failureOf(await ask("large", "", ` n="${9 << 20}"`));
  assert.equal(large?.get("code"), "reply.too-large");
  assert.match(large?.text ?? "", /9437\d{3} bytes, and 8388608 .* turn\.putBlob/);
  const unknown = failureOf(await program.reply(program.send({ payload: '<other xmlns="urn:o"/>' })));
  assert.match(unknown?.text ?? "", /<other> of urn:o is not taken; taken: <task>/);
  const stale = failureOf(await program.reply(program.send({ payload: makeTask("nothing") })));
  assert.deepEqual([stale?.get("code"), /^\/task\/@do: nothing is none of/.test(stale?.text ?? "")], ["sdk.schema", true]);
  const answers = failureOf(await program.reply(program.send({ payload: `<answers xmlns="${CORE}" turn="1"/>` })));
  assert.equal(answers?.get("code"), "listener.no-request");
  assert.equal(textOf(await ask("echo", "alive")), "alive");
  assert.equal(await program.end(), 0);
});

test("whatever is thrown is a failure, and neighbours are answered", async () => {
  const program = new Program({ file: writeProgram(`
    class Odd extends Error { get message() { throw new Error("no message"); } }
    listener(Task, async (task, turn) => {
      switch (task.text) {
        case "error": throw new Fail("a.b", new RangeError("far"));
        case "code": throw new Fail(5, undefined, { outage: 7 });
        case "again": throw new Again("a.b", 7);
        case "bare": throw Object.create(null);
        case "odd": throw new Odd();
        case "once": return Done({ text: await turn.once("pay", task, () => { throw Object.create(null); }), key: "k", attempt: 1n, turn: 1n, sender: "s" });
        default: await turn.sleep(500); return Done({ text: task.text, key: "k", attempt: 1n, turn: 1n, sender: "s" });
      }
    });`) });
  const near = program.send({ payload: makeTask("echo", "near") });
  const told = async (text: string): Promise<unknown[]> => {
    const [said] = (await program.reply(program.send({ payload: makeTask("echo", text) }))).elements;
    return [said?.name, said?.get("code"), said?.text];
  };
  assert.deepEqual(await told("error"), ["failure", "a.b", "RangeError: far"]);
  assert.deepEqual(await told("code"), ["failure", "5", ""]);
  assert.deepEqual(await told("again"), ["again", "a.b", "7"]);
  assert.deepEqual(await told("bare"), ["failure", "listener.error", "something was thrown that has no words"]);
  assert.deepEqual(await told("odd"), ["failure", "listener.error", "something was thrown that has no words"]);
  const paid = program.send({ payload: makeTask("echo", "once") });
  program.answer(await program.asked("model-started"), "");
  const failure = failureOf(await program.reply(paid));
  assert.deepEqual([failure?.get("retry"), failure?.text], ["true", "pay: something was thrown that has no words"]);
  assert.equal(textOf(await program.reply(near)), "near");
  assert.equal(await program.end(), 0);
});

test("what is unknown, malformed or late is skipped", async () => {
  const program = new Program();
  program.write(
    "<future xmlns='urn:systole:listener:v1'/>", "<broken", "<!DOCTYPE a><a/>", '<message xmlns="https://xml-pipeline.org/ns/envelope/v2"/>',
    '<message xmlns="https://xml-pipeline.org/ns/envelope/v1"><meta/><a/></message>', "",
    `<answer xmlns="${LISTENER}" id="7" delivery="none"/>`, `<cancel xmlns="${LISTENER}" delivery="none"/>`,
  );
  const name = program.send({});
  assert.equal(textOf(await program.reply(name)), "text");
  program.cancel(name);
  const next = program.send({});
  assert.equal(textOf(await program.reply(next)), "text");
  assert.equal(await program.end(), 0);
  assert.deepEqual(program.documents, []);
  for (const words of ["<future>", "is not closed|wrong", "DOCTYPE", "envelope/v2", "no stamp"]) assert.match(program.stderr, new RegExp(words));
});

test("a later turn reads the request and the answers", async () => {
  const program = new Program();
  const item = (ordinal: number, inside: string): string => `<item ordinal="${ordinal}" from="peer" seq="5" new="1">${inside}</item>`;
  const done = (text: string): string => `<done xmlns="${CONFORM}" key="k" attempt="1" turn="1" sender="s">${text}</done>`;
  const inbox = '<inbox><thread-finished id="t" outcome="answered" head="x"/><later/></inbox>';
  const payload = `<answers xmlns="${CORE}" turn="2" wrap-up="budget.messages">${item(0, done("a"))}${item(1, "")}${item(2, '<system-error code="x" message="m"/>')}${item(3, done("d"))}${inbox}</answers>`;
  const name = program.send({ turn: 2, payload });
  const asked = await program.asked("view");
  assert.deepEqual([asked.elements[0]?.get("from-seq"), asked.elements[0]?.get("items")], ["0", "false"]);
  const message = (seq: number, sort: string, text: string): string => `<message seq="${seq}" from="o" sort="${sort}">${makeTask("call", text)}</message>`;
  program.answer(asked, `<view count="3" next="2" mark="5f0c91aa" began="2026-11-21">${message(1, "request", "earlier")}</view>`);
  const more = await program.asked("view");
  assert.equal(more.elements[0]?.get("from-seq"), "2");
  program.answer(more, `<view count="3" mark="5f0c91aa" began="2026-11-21">${message(2, "request", "mine")}${message(3, "answer", "x")}</view>`);
  assert.equal(textOf(await program.reply(name)), "ad");
  assert.equal(await program.end(), 0);
});

test("questions are numbered for each delivery, and each gets its own answer", async () => {
  const program = new Program();
  const [first, second] = [program.send({ payload: makeTask("view") }), program.send({ payload: makeTask("view") })];
  const asked = [await program.asked("view"), await program.asked("view")];
  assert.deepEqual(asked.map((one) => [one.get("delivery"), one.get("id")]), [[first, "1"], [second, "1"]]);
  for (const [at, one] of [...asked.entries()].reverse()) {
    program.answer(one, `<view count="1" mark="m" began="b">${`<message seq="1" sort="said"><a/></message>`.repeat(at + 1)}</view>`);
  }
  assert.match(textOf(await program.reply(first)) ?? "", /^1 /);
  assert.match(textOf(await program.reply(second)) ?? "", /^2 /);
  const refused = program.send({ payload: makeTask("view") });
  program.answer(await program.asked("view"), `<system-error xmlns="${CORE}" code="budget.messages" message="no &lt;more&gt;"/>`);
  const told = failureOf(await program.reply(refused));
  assert.deepEqual([told?.get("code"), told?.text], ["budget.messages", "no <more>"]);
  const odd = program.send({ payload: makeTask("view") });
  program.answer(await program.asked("view"), "<else/>");
  assert.equal(failureOf(await program.reply(odd))?.get("code"), "listener.unanswered");
  assert.equal(await program.end(), 0);
});

test("bytes are stored and read in hex, progress and notices are sent", async () => {
  const program = new Program();
  const name = program.send({ payload: makeTask("blob", "", ' code="hex"') });
  const put = await program.asked("put-blob");
  assert.deepEqual([put.elements[0]?.get("encoding"), put.elements[0]?.text], ["hex", "00ff0a89"]);
  program.answer(put, '<blob hash="abc" total="4"/>');
  const page = await program.asked("blob");
  program.answer(page, '<blob hash="abc" total="4" next="2" encoding="hex">00ff</blob>');
  const rest = await program.asked("blob");
  assert.deepEqual([rest.get("id"), rest.elements[0]?.get("from"), rest.elements[0]?.get("hash")], ["3", "2", "abc"]);
  program.answer(rest, '<blob hash="abc" total="4" encoding="hex">0a89</blob>');
  assert.match(textOf(await program.reply(name)) ?? "", /^abc a3fa|^abc [0-9a-f]{64}$/);
  const said = program.send({ payload: makeTask("progress", "half <way>", ' n="2"') });
  await program.reply(said);
  assert.deepEqual(program.documents.splice(0).map((one) => [one.name, one.get("delivery"), one.text]), Array(2).fill(["progress", said, "half <way>"]));
  const noted = program.send({ payload: makeTask("notice", "aside", ' code="a.b"') });
  await program.reply(noted);
  assert.deepEqual(program.documents.splice(0).map((one) => [one.name, one.get("code"), one.text]), [["notice", "a.b", "aside"]]);
  assert.equal(await program.end(), 0);
});

test("once: the journal has the start before the call, and the result after it", async () => {
  const ledger = join(mkdtempSync(join(tmpdir(), "systole-")), "ledger");
  const program = new Program({ env: { LEDGER: ledger } });
  const pays = (): string => { try { return readFileSync(ledger, "utf8"); } catch { return ""; } };
  const name = program.send({ key: "k1", payload: makeTask("once", "pay") });
  const start = await program.asked("model-started");
  assert.deepEqual([start.get("id"), start.get("model"), start.get("prompt")?.length, pays()], ["1", "work", 64, ""]);
  program.answer(start, "");
  const result = await program.asked("model-result");
  assert.deepEqual([result.get("of"), result.get("stop"), result.text, pays()], ["1", "end", "pay of attempt 1", "k1\n"]);
  program.answer(result, "");
  assert.equal(textOf(await program.reply(name)), "pay of attempt 1");

  const entry = (id: number, more: string, text = ""): string => `<journal id="${id}" attempt="1" ${more}>${text}</journal>`;
  const started = entry(1, `kind="model-started" model="work" prompt="${start.get("prompt")}"`);
  const known = program.send({ key: "k1", attempt: 2, journal: 2, payload: makeTask("once", "pay") });
  program.answer(await program.asked("journal"), `<entries next="1">${started}</entries>`);
  const rest = await program.asked("journal");
  assert.equal(rest.elements[0]?.get("from"), "1");
  program.answer(rest, `<entries>${entry(2, 'kind="model-result" of="1" stop="end"', "pay of attempt 1")}</entries>`);
  assert.equal(textOf(await program.reply(known)), "pay of attempt 1");
  assert.equal(pays(), "k1\n");

  const open = program.send({ key: "k1", attempt: 2, journal: 1, payload: makeTask("once", "pay") });
  program.answer(await program.asked("journal"), `<entries>${started}</entries>`);
  program.answer(await program.asked("model-started"), "");
  program.answer(await program.asked("model-result"), "");
  const late = await program.reply(open);
  assert.deepEqual([textOf(late), late.find(CONFORM, "done")?.get("key"), pays()], ["pay of attempt 2", "k1", "k1\nk1\n"]);

  const refused = program.send({ payload: makeTask("once", "pay", ' code="refuse"') });
  program.answer(await program.asked("model-started"), "");
  const nothing = await program.asked("model-result");
  assert.deepEqual(["stop", "in", "out", "money"].map((one) => nothing.get(one)), ["model.failed", "0", "0", undefined]);
  program.answer(nothing, "");
  assert.deepEqual([failureOf(await program.reply(refused))?.get("code")], ["bank.closed"]);

  const broken = program.send({ payload: makeTask("once", "pay", ' code="break"') });
  program.answer(await program.asked("model-started"), "");
  const failure = failureOf(await program.reply(broken));
  assert.deepEqual([failure?.get("code"), failure?.get("retry"), failure?.text], ["listener.error", "true", "break: Error: the line is cut"]);
  assert.ok(!program.documents.some((one) => one.name === "journal"));
  const unfunded = program.send({ payload: makeTask("once", "pay") });
  program.answer(await program.asked("model-started"), `<system-error xmlns="${CORE}" code="budget.requests" message="${escapeText("all used")}"/>`);
  const all = failureOf(await program.reply(unfunded));
  assert.deepEqual([all?.get("code"), all?.text], ["budget.requests", "all used"]);
  assert.equal(await program.end(), 0);
});

test("a cancel ends what listens and replaces what does not, and neighbours are answered", async () => {
  const program = new Program();
  const asleep = program.send({ payload: makeTask("sleep", "z", ' n="60000"') });
  const hung = program.send({ payload: makeTask("hang") });
  const near = program.send({ payload: makeTask("sleep", "near", ' n="300"') });
  program.send({ delivery: asleep });
  program.cancel(asleep);
  program.cancel(hung);
  assert.equal(failureOf(await program.reply(asleep))?.get("code"), "listener.cancelled");
  assert.equal(textOf(await program.reply(near)), "near");
  assert.equal(textOf(await program.reply(program.send({}))), "text");
  assert.equal(failureOf(await program.reply(hung))?.get("code"), "listener.cancelled");
  assert.equal(await program.end(), 0);
  assert.deepEqual(program.documents, []);
});

test("sixteen at once: one hangs, one throws, one is cancelled, and thirteen are answered", async () => {
  const program = new Program();
  const works = Array.from({ length: 16 }, (_, at) => program.send({ payload: makeTask(at === 3 ? "hang" : at === 5 ? "throw" : at === 7 ? "sleep" : "echo", `${at}`, at === 7 ? ' n="60000"' : "") }));
  program.cancel(works[7] as string);
  const replies = await Promise.all(works.filter((_, at) => at !== 3).map((name) => program.reply(name)));
  assert.equal(replies.filter((one) => textOf(one) !== undefined).length, 13);
  assert.deepEqual(replies.flatMap((one) => failureOf(one)?.get("code") ?? []), ["listener.error", "listener.cancelled"]);
  program.child.kill("SIGKILL");
  await program.exited;
});

test("TERM: what is at work is answered, nothing more is taken, a second one ends at once", async () => {
  const program = new Program();
  const name = program.send({ payload: makeTask("sleep", "done", ' n="500"') });
  await program.reply(program.send({}));
  program.child.kill("SIGTERM");
  await new Promise((resolve) => setTimeout(resolve, 100));
  const late = program.send({});
  assert.equal(textOf(await program.reply(name)), "done");
  assert.equal(await program.exited, 0);
  assert.ok(!program.documents.some((one) => one.get("delivery") === late));

  const hung = new Program();
  hung.send({ payload: makeTask("hang") });
  await hung.reply(hung.send({}));
  hung.child.kill("SIGTERM");
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(hung.child.exitCode, null);
  hung.child.kill("SIGTERM");
  assert.equal(await hung.exited, 1);
});

test("a hung program is gone after stdin ended, and says what is open", async () => {
  const program = new Program();
  const hung = program.send({ payload: makeTask("hang") });
  const asking = program.send({ payload: makeTask("view") });
  await program.asked("view");
  assert.equal(await program.end(), 1);
  assert.match(program.stderr, new RegExp(`open work: ${hung}`));
  assert.match(failureOf(program.documents[0] as Element)?.text ?? "", /the organism is gone/);
  assert.equal(program.documents[0]?.get("delivery"), asking);
});

test("a program that cannot serve exits with 2 and the fix", async () => {
  const started = async (env: { readonly [name: string]: string }, file?: string): Promise<Program> => {
    const program = new Program({ env, ...(file === undefined ? {} : { file }) });
    program.send({});
    assert.equal(await program.exited, 2);
    assert.equal(program.raw, "");
    return program;
  };
  assert.match((await started({ SYSTOLE_PROTOCOL: "2" })).stderr, /this organism speaks protocol 2, systole-sdk 0\.1 speaks 1; try: systole sdk typescript/);
  assert.match((await started({ SYSTOLE_MODE: "once" })).stderr, /remove `mode: once`/);
  assert.match((await started({ SYSTOLE_SLOTS: "none" })).stderr, /SYSTOLE_SLOTS is none/);
  const cases: [string, number, RegExp][] = [
    ["", 2, /this program takes nothing: call listener\(PAYLOAD, function\) before run\(\)/],
    ["listener(Task, () => {}); listener(Task, () => {});", 1, /two functions take <task>: keep one function for each element/],
    ["listener(EverythingLine, () => {});", 1, /the first is no class of a payload, such as Weather/],
    ["listener(Task, () => {}); run();", 1, /run\(\) is called twice: call it once/],
    ["listener(Task);", 1, /listener\(Task, function\): the second is no function/],
  ];
  for (const [body, code, words] of cases) {
    const program = new Program({ file: writeProgram(body) });
    assert.equal(await program.exited, code);
    assert.match(program.stderr, words);
  }
});

test("a terminal in place of the organism is said with the fix", () => {
  const done = spawnSync("script", ["-qec", `'${process.execPath}' '${WORKER}'`, "/dev/null"], { encoding: "utf8" });
  assert.equal(done.status, 2);
  assert.match(done.stdout, /an organism starts it: put `run:` with its command into organism\.yaml/);
});

test("stale classes: a request without a required part is a failure with its path", async () => {
  const program = new Program();
  const failure = failureOf(await program.reply(program.send({ payload: `<task xmlns="${CONFORM}" n="many">x</task>` })));
  assert.deepEqual([failure?.get("code"), failure?.text], ["sdk.schema", "/task/@n: many is no nonNegativeInteger"]);
  assert.equal(await program.end(), 0);
});
