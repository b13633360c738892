// A worker for every piece of work of `schemas/conform.xsd`. The tests and `systole listener conform` drive it.
import { createHash } from "node:crypto";
import { appendFileSync } from "node:fs";
import { Again, Element, Fail, listener, run, To, type Turn } from "../systole_sdk/index.ts";
import { Done, Remark, Task } from "./samples/conform.ts";

const hash = (text: string | Uint8Array): string => createHash("sha256").update(text).digest("hex");

async function once(task: Task, turn: Turn): Promise<string> {
  return turn.once(task.code ?? "work", task, async () => {
    if (process.env["LEDGER"]) appendFileSync(process.env["LEDGER"], `${turn.key}\n`);
    if (task.code === "refuse") throw new Fail("bank.closed", "nothing was paid");
    if (task.code === "break") throw new Error("the line is cut");
    return `${task.text} of attempt ${turn.attempt}`;
  });
}

async function work(task: Task, turn: Turn): Promise<string> {
  const n = Number(task.n ?? 0);
  switch (task.do ?? "echo") {
    case "sleep": await turn.sleep(n); break;
    case "fail": throw new Fail(task.code ?? "work.failed", task.text, { retry: n > 0 });
    case "again": if (turn.number === 1) throw new Again(task.code ?? "work.again", task.text); break;
    case "throw": throw new RangeError(task.text);
    case "exit": process.exit(n);
    case "hang": await new Promise(() => setInterval(() => {}, 1000)); break;
    case "print": process.stdout.write(task.text); console.log("and more"); break;
    case "stderr": process.stderr.write(task.text); break;
    case "progress": for (let at = 0; at < Math.max(n, 1); at++) turn.progress(task.text); break;
    case "notice": await turn.notice(task.code ?? "work.notice", task.text); break;
    case "view": {
      const { messages } = await turn.view();
      return `${messages.length} ${hash(messages.map((one) => one.element.text).join(""))}`;
    }
    case "blob": {
      const data = task.code === "hex" ? Uint8Array.of(0, 255, 10, 137) : task.text;
      const key = await turn.putBlob(data);
      return `${key} ${hash(await turn.blob(key))}`;
    }
    case "once": return once(task, turn);
    case "large": return "x".repeat(n);
    case "bad": return "\u0001";
    default: break;
  }
  return task.text;
}

listener(Task, async (task, turn) => {
  const done = (text: string): Done =>
    Done({
      text, key: turn.key, attempt: BigInt(turn.attempt), turn: BigInt(turn.number), sender: turn.sender,
      ...(task.n === undefined ? {} : { n: task.n }),
    });
  if (turn.number > 1) {
    const texts = turn.answers.map((one) => (Done.is(one.payload) ? one.payload.text : one.payload instanceof Element ? one.payload.text : ""));
    return done(task.do === "call" ? texts.join("") : `${task.text}${texts.join("")}`);
  }
  if (task.do === "silent") return [];
  if (task.do === "call" && turn.wrapUp === undefined) {
    return Array.from({ length: Number(task.n ?? 1) }, (_, at) => new To("peer", Task({ do: "echo", text: `${task.text}${at}` })));
  }
  const remarks = task.do === "many" ? Array.from({ length: Number(task.n ?? 0) }, (_, at) => Remark({ n: BigInt(at), text: task.text })) : [];
  return [...remarks, done(await work(task, turn))];
});

run();
