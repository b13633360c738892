// A worker over a real broker, byte for byte: what it pulls, renews, sends again and acknowledges.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { CORE, LISTENER } from "../systole_sdk/documents.ts";
import { Broker, PULLS, REFUSAL, type Sent } from "./broker.ts";
import { CONFORM, makeTask, writeProgram } from "./pump.ts";

async function open(context: TestContext, env: { readonly [name: string]: string } = {}, hasStream = false): Promise<Broker> {
  const broker = new Broker({ hasStream });
  context.after(() => broker.end());
  await broker.serve();
  broker.start(env);
  return broker;
}

const later = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

test("pulls are those of the page, one for each slot, and come again as the page says", async (context) => {
  const broker = await open(context);
  const [first, second] = [await broker.pull(), await broker.pull()];
  assert.deepEqual([first.string(), first.subject], ['{"batch":1,"expires":5000000000}', PULLS]);
  assert.match(first.reply ?? "", /^_INBOX_calc_add\./);
  assert.notEqual(first.reply, second.reply);
  broker.status(first, 408, "Request Timeout");
  const third = await broker.pull();
  broker.status(second, 409, "Exceeded MaxWaiting");
  broker.status(third, 404, "No Messages");
  const again = [await broker.pull(), await broker.pull()];
  assert.deepEqual(broker.pulls, []);
  for (const _lost of again) await broker.pull(); // Nothing came, so the pulls were lost.
});

test("a delivery is renewed until its receipt, the reply is sent again with the same bytes, then acknowledged", async (context) => {
  const broker = await open(context);
  broker.givesReceipts = false;
  const { name, ack } = broker.deliver(await broker.pull(), { payload: makeTask("sleep", "z", ' n="2500"') });
  await broker.until(() => broker.replies(name).length === 3);
  const replies = broker.replies(name);
  assert.equal(new Set(replies.map((one) => one.text)).size, 1);
  assert.match(replies[0]?.text ?? "", /^o\.shop\.in\.calc_add\.0 <reply /);
  assert.ok(broker.renewals(ack).length > 8, `${broker.renewals(ack).length}`);
  assert.ok(!broker.acks.some((one) => one.word === "+ACK"));
  replies[2]?.answer();
  await broker.acked(ack);
  const after = broker.renewals(ack).length;
  await later(1_500);
  assert.deepEqual([broker.replies(name).length, broker.renewals(ack).length], [3, after]);
});

test("without a responder the same bytes come again, and the work is done once", async (context) => {
  const broker = await open(context);
  broker.givesReceipts = false;
  const { name, ack } = broker.deliver(await broker.pull(), { payload: makeTask("once", "pay") }, { "Systole-Reply": "o.shop.in.none" });
  const asked = (): number => broker.sent.filter(({ element }) => element.name === "journal" && element.get("delivery") === name).length;
  broker.sent.length = 0;
  await broker.until(() => asked() === 2);
  const [first, second] = broker.sent.splice(0);
  assert.equal(first?.text, second?.text);
  second?.answer();
  await broker.until(() => asked() === 1);
  broker.sent.splice(0)[0]?.answer();
  (await broker.reply(name)).answer();
  await broker.acked(ack);
});

test("a receipt that refuses is final, and the author reads why", async (context) => {
  const broker = await open(context);
  broker.givesReceipts = false;
  const receipts: [inside: string, more: string, words: RegExp][] = [
    [REFUSAL, "", /refused of d\d+: reply\.stale-lease: over/],
    [`<refused ordinal="1"><system-error xmlns="${CORE}" code="payload.invalid" message="no"/></refused>`, "", /refused item 1 of d\d+: payload\.invalid: no/],
    ["", ' outcome="superseded" later="1"', /reply\.superseded/],
  ];
  for (const [inside, more, words] of receipts) {
    const { name, ack } = broker.deliver(await broker.pull(), {});
    (await broker.reply(name)).answer(inside, more);
    await broker.until(() => words.test(broker.stderr));
    await broker.acked(ack);
    await later(200);
    assert.equal(broker.replies(name).length, 1);
  }
  await broker.pull();
});

test("what the author does with a refusal costs no acknowledgement, and the program lives", async (context) => {
  const done = 'listener(Task, (task) => Done({ text: task.text, key: "k", attempt: 1n, turn: 1n, sender: "s" }));';
  for (const told of ['() => { throw new Error("nowhere to write"); }', 'async () => { throw new Error("nowhere to write"); }', "() => { throw Object.create(null); }"]) {
    const broker = new Broker();
    context.after(() => broker.end());
    await broker.serve();
    broker.givesReceipts = false;
    broker.start({ SYSTOLE_SLOTS: "1" }, writeProgram(done, `{ onRefused: ${told} }`));
    for (let at = 0; at < 2; at++) {
      const { name, ack } = broker.deliver(await broker.pull(), {});
      (await broker.reply(name)).answer(REFUSAL);
      await broker.acked(ack);
      await broker.until(() => broker.stderr.split("systole-sdk: onRefused: ").length === at + 2);
    }
    await broker.end();
  }
});

test("the result of a call is kept however its text grows when it is escaped", async (context) => {
  const broker = new Broker();
  context.after(() => broker.end());
  await broker.serve();
  const texts = ["twenty letters a line\n".repeat(41_046), "\n".repeat(400_000), "a\u{1F600}&\r".repeat(60_000) + "z".repeat(1_500_000)];
  broker.start({ SYSTOLE_SLOTS: "1" }, writeProgram(`
    const texts = ${JSON.stringify(texts)};
    listener(Task, async (task, turn) => {
      const text = await turn.once("pay", task, () => texts[task.n]);
      return Done({ text: String(text.length), key: "k", attempt: 1n, turn: 1n, sender: "s" });
    });`));
  for (const [at, text] of texts.entries()) {
    const { name } = broker.deliver(await broker.pull(), { payload: makeTask("once", "pay", ` n="${at}"`) });
    const parts: string[] = [];
    let asked: Sent;
    do {
      asked = await broker.until(() => broker.sent.shift());
      assert.notEqual(asked.element.name, "reply", asked.text.slice(0, 400));
      assert.ok(Buffer.byteLength(asked.text) < 1_000_000, asked.text.slice(0, 200));
      const [part] = asked.element.elements;
      if (part) parts.push(part.text);
      asked.answer(part ? `<blob hash="h${parts.length}"/>` : "");
    } while (asked.element.get("kind") !== "model-result");
    assert.equal(asked.element.get("blobs"), parts.map((_, at) => `h${at + 1}`).join(" "));
    assert.ok(parts.join("") === text);
    assert.equal((await broker.reply(name)).element.find(CONFORM, "done")?.text, `${text.length}`);
    broker.sent.length = 0;
  }
});

test("questions, entries, notices and progress go where the page says", async (context) => {
  const broker = await open(context);
  const view = broker.deliver(await broker.pull(), { payload: makeTask("view") });
  const asked = await broker.until(() => broker.sent.find(({ element }) => element.name === "ask"));
  assert.match(asked.text, /^o\.shop\.in\.calc_add\.0 <ask xmlns="urn:systole:listener:v1" id="1" delivery="d\d+"><view from-seq="0"><\/view><\/ask>$/);
  asked.answer('<view count="0" mark="m" began="b"/>');
  assert.match((await broker.reply(view.name)).element.find(CONFORM, "done")?.text ?? "", /^0 /);
  const progress = broker.deliver(await broker.pull(), { payload: makeTask("progress", "half") });
  await broker.reply(progress.name);
  assert.ok(broker.sent.some(({ text }) => text.startsWith("o.shop.live.calc_add <progress ")));
  const noted = broker.deliver(await broker.pull(), { payload: makeTask("notice", "aside") });
  const notice = await broker.until(() => broker.sent.find(({ element }) => element.name === "notice"));
  await later(200);
  assert.deepEqual(broker.replies(noted.name), []);
  notice.answer();
  await broker.reply(noted.name);
});

test("no more is held than there are slots, and a slow delivery holds up no fast one", async (context) => {
  const broker = await open(context);
  const slow = broker.deliver(await broker.pull(), { payload: makeTask("sleep", "slow", ' n="3000"') });
  for (let at = 0; at < 20; at++) {
    const { name } = broker.deliver(await broker.pull(), { payload: makeTask("echo", `${at}`) });
    assert.equal((await broker.reply(name)).element.find(CONFORM, "done")?.text, `${at}`);
    assert.ok(broker.pulls.length <= 1);
  }
  assert.deepEqual(broker.replies(slow.name), []);
  await broker.reply(slow.name);
});

test("a delivery that is called back gets no reply and no renewal, and its place is free", async (context) => {
  const broker = await open(context, { SYSTOLE_SLOTS: "1" });
  const { name, ack } = broker.deliver(await broker.pull(), { payload: makeTask("sleep", "z", ' n="60000"') });
  await broker.until(() => broker.renewals(ack).length > 0);
  broker.cancel("none");
  broker.cancel(name);
  const next = broker.deliver(await broker.pull(), {});
  await broker.reply(next.name);
  const renewed = broker.renewals(ack).length;
  const early = broker.deliver(await broker.pull(), { delivery: name }); // A cancel may overtake its delivery.
  await later(1_500);
  assert.deepEqual([broker.replies(name), broker.renewals(ack).length, broker.renewals(early.ack)], [[], renewed, []]);
});

test("work that ignores its cancel keeps its place, and a program without a place ends", async (context) => {
  const broker = await open(context, { SYSTOLE_SLOTS: "1" });
  const { name, ack } = broker.deliver(await broker.pull(), { payload: makeTask("hang") });
  await broker.until(() => broker.renewals(ack).length > 0);
  broker.cancel(name);
  assert.equal(await broker.exited, 1);
  assert.match(broker.stderr, /all places have work that was called back/);
});

test("a delivery that comes twice is answered once, and acknowledged on both subjects", async (context) => {
  const broker = await open(context);
  const [one, two] = [await broker.pull(), await broker.pull()];
  const first = broker.deliver(one, { delivery: "twice", payload: makeTask("sleep", "z", ' n="1500"') });
  const second = broker.deliver(two, { delivery: "twice", payload: makeTask("sleep", "z", ' n="1500"') });
  await Promise.all([broker.acked(first.ack), broker.acked(second.ack)]);
  assert.ok(broker.renewals(second.ack).length > 0);
  assert.equal(broker.replies("twice").length, 1);
  const third = broker.deliver(await broker.pull(), { delivery: "twice", payload: makeTask("sleep", "z", ' n="60000"') });
  await broker.acked(third.ack);
  assert.equal(new Set(broker.replies("twice").map(({ text }) => text)).size, 1);
});

test("a broker that stops in work, or comes late, costs no reply and no second work", async (context) => {
  const broker = new Broker();
  context.after(() => broker.end());
  await broker.serve();
  await broker.stopServer();
  broker.start();
  await broker.until(() => /waits for the broker at nats/.test(broker.stderr));
  await broker.serve();
  const { name, ack } = broker.deliver(await broker.pull(), { payload: makeTask("sleep", "z", ' n="2000"') });
  await broker.until(() => broker.renewals(ack).length > 0);
  await broker.stopServer();
  await later(2_000);
  broker.sent.length = 0;
  broker.pulls.length = 0;
  await broker.serve();
  await broker.reply(name);
  assert.equal(broker.replies(name).length, 1);
  const idle = broker.deliver(await broker.pull(), {});
  await broker.reply(idle.name);
});

test("TERM: a pull on its way is still answered, and the program ends with 0", async (context) => {
  const broker = await open(context);
  const [one, two] = [await broker.pull(), await broker.pull()];
  const work = broker.deliver(one, { payload: makeTask("sleep", "z", ' n="2500"') });
  await broker.until(() => broker.renewals(work.ack).length > 0);
  broker.worker?.kill("SIGTERM");
  await later(100);
  const late = broker.deliver(two, {});
  await Promise.all([broker.acked(work.ack), broker.acked(late.ack)]);
  assert.equal(await broker.exited, 0);
  assert.deepEqual(broker.pulls, []);
});

test("TERM with the broker gone names what is open after the grace, and a second TERM ends at once", async (context) => {
  const broker = await open(context);
  const { name, ack } = broker.deliver(await broker.pull(), { payload: makeTask("sleep", "z", ' n="2000"') });
  await broker.until(() => broker.renewals(ack).length > 0);
  await broker.stopServer();
  await broker.until(() => /disconnect/.test(broker.stderr));
  broker.worker?.kill("SIGTERM");
  await later(1_000);
  assert.equal(broker.worker?.exitCode, null);
  broker.worker?.kill("SIGTERM");
  assert.equal(await broker.exited, 1);
  assert.match(broker.stderr, new RegExp(`open deliveries: ${name}`));
});

test("a reply that the broker does not take becomes a failure, and the program lives", async (context) => {
  const broker = await open(context);
  const { name } = broker.deliver(await broker.pull(), { payload: makeTask("large", "", ' n="1048000"') });
  assert.equal((await broker.reply(name)).element.find(LISTENER, "failure")?.get("code"), "reply.too-large");
  const fits = broker.deliver(await broker.pull(), { payload: makeTask("large", "", ' n="900000"') });
  assert.equal((await broker.reply(fits.name)).element.find(CONFORM, "done")?.text.length, 900_000);
});

test("the worker can be found, once for each question", async (context) => {
  const broker = await open(context, { SYSTOLE_SLOTS: "1" });
  const { name } = broker.deliver(await broker.pull(), { payload: makeTask("throw", "x") });
  await broker.reply(name);
  await broker.pull();
  const ask = async (subject: string): Promise<{ [key: string]: unknown }> => {
    const answers = [];
    for await (const one of (await broker.client?.requestMany(subject, "", { maxWait: 500 })) ?? []) answers.push(one.json<{ [key: string]: unknown }>());
    assert.equal(answers.length, 1);
    return answers[0] ?? {};
  };
  const ping = await ask("$SRV.PING");
  assert.deepEqual([ping["type"], ping["name"], ping["metadata"]], ["io.nats.micro.v1.ping_response", "calc_add", { organism: "shop", accepts: "task", returns: "" }]);
  const info = await ask("$SRV.INFO.calc_add");
  assert.deepEqual([info["type"], info["id"], (info["endpoints"] as object[]).length], ["io.nats.micro.v1.info_response", ping["id"], 1]);
  const stats = await ask(`$SRV.STATS.calc_add.${String(ping["id"])}`);
  assert.equal((stats["endpoints"] as { num_requests: number }[])[0]?.num_requests, 1);
});

test("what is no delivery is skipped, and another protocol ends the program without an answer", async (context) => {
  const broker = await open(context, { SYSTOLE_SLOTS: "1" });
  const junk = await broker.pull();
  broker.client?.publish(junk.reply ?? "", "<broken", { reply: "ack.junk" });
  await broker.until(() => /a message is skipped/.test(broker.stderr));
  const { name } = broker.deliver(await broker.pull(), {}, { "Systole-Protocol": "2" });
  assert.equal(await broker.exited, 2);
  assert.match(broker.stderr, /speaks protocol 2/);
  assert.deepEqual([broker.replies(name), broker.acks], [[], []]);
});

test("a place that is not said, or a key that is none, is an error with its fix", async () => {
  const cases: [{ readonly [name: string]: string }, RegExp][] = [
    [{ SYSTOLE_LISTENER: "" }, /SYSTOLE_LISTENER is not set: it has to be the name of the listener/],
    [{ SYSTOLE_KEY_FILE: "/none/echo.nk" }, /the key \/none\/echo\.nk cannot be read/],
    [{ SYSTOLE_KEY_FILE: "package.json" }, /package\.json does not hold the seed of an nkey/],
  ];
  for (const [env, words] of cases) {
    const broker = new Broker();
    broker.start(env);
    assert.equal(await broker.exited, 2);
    assert.match(broker.stderr, words);
  }
});

test("deliveries of a stream have its subject: each frees the slot that pulled, and a slow one holds up no fast one", async (context) => {
  const broker = await open(context, {}, true);
  const slow = broker.publish({ payload: makeTask("sleep", "slow", ' n="4000"') });
  await broker.until(() => broker.acks.some((one) => one.word === "+WPI"));
  const fast = Array.from({ length: 100 }, (_, at) => broker.publish({ payload: makeTask("echo", `${at}`) }));
  for (const [at, name] of fast.entries()) assert.equal((await broker.reply(name)).element.find(CONFORM, "done")?.text, `${at}`);
  assert.deepEqual(broker.replies(slow), []);
  await broker.reply(slow);
  await broker.until(() => broker.acks.filter((one) => one.word === "+ACK").length === 101);
});
