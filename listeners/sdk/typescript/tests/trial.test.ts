// Trials: functions without an organism, through the bytes that they would read and write.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Envelope } from "../systole_sdk/documents.ts";
import { Again, Element, Fail, File, listener, Refused, To, Turn } from "../systole_sdk/index.ts";
import { trial } from "../systole_sdk/testing.ts";
import { parseXml } from "../systole_sdk/xml.ts";
import { Done, Remark, Task } from "./samples/conform.ts";
import { Everything, EverythingLine, Story, StoryPara } from "./samples/kinds.ts";

const calls: string[] = [];
const done = (turn: Turn, text: string): Done =>
  Done({ text, key: turn.key, attempt: BigInt(turn.attempt), turn: BigInt(turn.number), sender: turn.sender });

async function work(task: Task, turn: Turn): Promise<Done | readonly To[]> {
  switch (task.do) {
    case "progress": turn.progress(task.text); break;
    case "notice": await turn.notice(task.code ?? "", task.text); break;
    case "blob": return done(turn, Buffer.from(await turn.blob(await turn.putBlob(Uint8Array.of(0, 255)))).toString("hex"));
    case "fail": throw new Fail(task.code ?? "", task.text, { retry: true });
    case "again": throw new Again("own.again", task.text);
    case "sleep": await turn.sleep(60_000); break;
    case "hang": while (!turn.cancelled) await new Promise((resolve) => setTimeout(resolve, 5)); break;
    case "call": return callPeers(task, turn);
    case "once": return done(turn, await pay(task, turn));
    case "view": return done(turn, `${await turn.schema("worker")} ${await turn.configuration()}`);
    default: break;
  }
  return done(turn, task.text);
}

async function callPeers(task: Task, turn: Turn): Promise<Done | readonly To[]> {
  if (turn.number === 1) return [new To("left", Task({ text: "a" })), new To("right", Task({ text: "b" }))];
  const seen = (await turn.view()).messages.map((one) => `${one.sort}:${one.seq}`);
  const said = turn.answers.map((one) => one.refusal?.code ?? (Done.is(one.payload) ? one.payload.text : "-"));
  const inside = turn.inbox.map((one) => (one instanceof Element ? one.name : "payload"));
  return done(turn, `${task.text} ${said} ${inside} ${seen}`);
}

async function pay(task: Task, turn: Turn): Promise<string> {
  const said = await turn.once("charge", task, () => {
    calls.push(turn.key);
    if (task.code === "crash" && calls.length === 1) throw new Error("the line broke");
    if (task.code === "refused") throw new Fail("bank.refused", "no");
    if (task.code === "unclean") throw new Fail("bank.refused", "no\u0001");
    return `paid ${calls.length}`;
  });
  if (task.code === "late" && turn.attempt === 1) throw new Error("after it was paid");
  return said;
}

const worker = listener(Task, work);
const read = (payload: unknown): Done => { assert.ok(Done.is(payload)); return payload; };

test("a reply and what was said on the way", async () => {
  const tried = trial(worker, { schemas: { worker: "<xs/>" }, configuration: "accepts: [task]" });
  const reply = await tried.send(Task({ text: "a\n<b>" }));
  assert.deepEqual(reply.payload, Done({ key: "trial:2:1", attempt: 1n, turn: 1n, sender: "trial", text: "a\n<b>" }));
  await tried.send(Task({ do: "progress", text: "half" }));
  await tried.send(Task({ do: "notice", text: "aside", code: "own.word" }));
  assert.deepEqual([tried.progress, tried.notices], [["half"], [["own.word", "aside"]]]);
  assert.equal(read((await tried.send(Task({ do: "blob", text: "" }))).payload).text, "00ff");
  assert.deepEqual([...tried.blobs.values()], [Uint8Array.of(0, 255)]);
  assert.equal(read((await tried.send(Task({ do: "view", text: "" }))).payload).text, "<xs/> accepts: [task]");
});

test("failures, another turn, and an element that is not taken", async () => {
  const tried = trial(worker);
  const reply = await tried.send(Task({ do: "fail", text: "no", code: "a.b" }));
  assert.deepEqual([reply.failure?.code, reply.failure?.words, reply.failure?.retry], ["a.b", "no", true]);
  assert.throws(() => reply.payload, /a\.b: no/);
  assert.equal((await tried.send(Task({ do: "again", text: "x" }))).again, "x");
  assert.equal((await tried.send(Remark({ n: 1n, text: "x" }))).failure?.code, "listener.unknown-element");
  assert.equal((await trial(worker).send(Task({ do: "view", text: "" }))).failure?.code, "payload.invalid");
  await assert.rejects(trial(worker).crash(), /repeats a delivery, and none was sent/);
});

test("several turns, with answers, a refusal, a note and an inbox", async () => {
  const tried = trial(worker);
  assert.deepEqual((await tried.send(Task({ do: "call", text: "start" }))).items, [new To("left", Task({ text: "a" })), new To("right", Task({ text: "b" }))]);
  const rose = new Element("https://xml-pipeline.org/ns/core/v1", "moon-rose");
  const one = Done({ key: "k", attempt: 1n, turn: 1n, sender: "s", text: "one" });
  const reply = await tried.inbox(rose).answers(one, new Refused("payload.invalid", "no"), undefined);
  assert.equal(read(reply.payload).text, "start one,payload.invalid,- moon-rose request:1,said:2,said:3,answer:4,answer:5,inbox:6");
});

test("a call outside is paid once over crashes", async () => {
  const tried = trial(worker);
  const first = await tried.send(Task({ do: "once", code: "late", text: "" }));
  assert.equal(first.failure?.code, "listener.error");
  assert.deepEqual(tried.journal.map((one) => one.kind), ["model-started", "model-result"]);
  const second = read((await tried.crash()).payload);
  assert.deepEqual([second.text, second.attempt, calls.splice(0)], ["paid 1", 2n, ["trial:2:1"]]);

  assert.equal((await tried.send(Task({ do: "once", code: "crash", text: "" }))).failure?.retry, true);
  assert.deepEqual([read((await tried.crash()).payload).text, calls.splice(0)], ["paid 2", ["trial:3:1", "trial:3:1"]]);

  const refused = await tried.send(Task({ do: "once", code: "refused", text: "" }));
  assert.deepEqual([refused.failure?.code, tried.journal.map((one) => one.attributes.get("stop"))], ["bank.refused", [undefined, "model.failed"]]);
  await tried.crash();
  assert.equal(calls.length, 2);
});

test("a delivery that is called back", async () => {
  for (const kind of ["sleep", "hang"] as const) {
    const reply = await trial(worker).cancel().send(Task({ do: kind, text: "" }));
    assert.equal(reply.failure?.code, "listener.cancelled");
  }
});

test("words that no document can carry hide no failure", async () => {
  const wrong = listener(Everything, () => { throw new Fail("own.code", `a\u0001b${"x".repeat(3_996)}\u{1F600}`); });
  const { failure } = await trial(wrong).send(Everything({ word: "w", small: 1 }));
  assert.equal(failure?.words, `a\uFFFDb${"x".repeat(3_996)}\uFFFD`); // It is cut inside of the last character.
  const tried = trial(worker);
  const refused = await tried.send(Task({ do: "once", code: "unclean", text: "" }));
  const entry = tried.journal.at(-1);
  assert.deepEqual([refused.failure?.code, entry?.attributes.get("stop"), entry?.text], ["bank.refused", "model.failed", "bank.refused: no\uFFFD"]);
});

test("what is no payload cannot be returned", async () => {
  const given: [unknown, RegExp][] = [
    [{ text: "x" }, /^TypeError: the function returned an object with text, which is no payload: make it with the constructor/],
    ["x", /returned string x, which is no payload/],
    [[EverythingLine({ sku: "none", quantity: 1 })], /returned the part EverythingLine, which is no payload/],
  ];
  let at = 0;
  const wrong = listener(Story, () => given[at]?.[0] as undefined);
  for (; at < given.length; at++) {
    const { failure } = await trial(wrong).send(Story({ items: [StoryPara({ text: "t" })] }));
    assert.equal(failure?.code, "listener.error");
    assert.match(failure?.words ?? "", given[at]?.[1] ?? /none/);
  }
});

test("a file of a reply is stored before the reply, and only its reference is sent", async () => {
  const painter = listener(Remark, (remark) => Everything({ word: remark.text, small: 1, photo: new File(Buffer.from("%PDF-1.7"), undefined, "plan.pdf") }));
  const tried = trial(painter);
  const reply = await tried.send(Remark({ n: 1n, text: "plan" }));
  assert.ok(Everything.is(reply.payload));
  const { photo } = reply.payload;
  assert.deepEqual([photo?.type, photo?.size, photo?.name, photo?.data], ["application/pdf", 8, "plan.pdf", undefined]);
  assert.deepEqual(Buffer.from(tried.blobs.get(photo?.sha256 ?? "") ?? []).toString(), "%PDF-1.7");
});

test("the facts of a turn are those of the stamp, and a deadline that is none is none", () => {
  const read = (more: string): Turn => {
    const stamp = `<stamp xmlns="urn:systole:stamp:v1" call="7" delivery="d" key="k" attempt="2" turn="3"${more}/>`;
    const meta = `<meta><from>ann</from><thread>sess-1</thread>${stamp}</meta>`;
    const payload = '<answers xmlns="https://xml-pipeline.org/ns/core/v1" turn="2" wrap-up="budget.messages"><inbox/></answers>';
    const message = parseXml(`<message xmlns="https://xml-pipeline.org/ns/envelope/v1">${meta}${payload}</message>`);
    const carrier = { progress: () => {}, notice: async () => {}, ask: async () => message };
    return new Turn(new Envelope(message), carrier, new AbortController().signal);
  };
  const turn = read(' deadline="2026-01-31T12:00:00Z"');
  assert.deepEqual(
    [turn.number, turn.attempt, turn.key, turn.thread, turn.call, turn.sender, turn.wrapUp, turn.deadline?.getTime(), turn.cancelled],
    [3, 2, "k", "sess-1", "7", "ann", "budget.messages", Date.UTC(2026, 0, 31, 12), false],
  );
  assert.deepEqual([read("").deadline, read(' deadline="soon"').deadline], [undefined, undefined]);
});
