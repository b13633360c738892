// The worker of task.py with the SDK, over stdin and NATS. `systole sdk typescript` writes the SDK and payloads/conform.ts.
import { createHash } from "node:crypto";
import { Done, Remark, Task } from "./payloads/conform.ts";
import { Again, Fail, listener, run, To, type Turn } from "./systole_sdk/index.ts";

const hash = (text: string): string => createHash("sha256").update(text).digest("hex");

function finish(turn: Turn, text: string, n?: number): Done {
  const stamp = { key: turn.key, attempt: BigInt(turn.attempt), turn: BigInt(turn.number), sender: turn.sender };
  return Done({ text, ...stamp, ...(n === undefined ? {} : { n: BigInt(n) }) });
}

// Blocks the thread, as code that computes does.
function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

async function blob(turn: Turn, text: string, isHex: boolean): Promise<Done> {
  const data = isHex ? Buffer.from(text, "hex") : Buffer.from(text, "utf8");
  const name = await turn.putBlob(data);
  const read = Buffer.from(await turn.blob(name));
  return finish(turn, `${name} ${read.toString(isHex ? "hex" : "utf8")}`, read.length);
}

listener(Task, async (task, turn) => {
  const [n, text, code] = [Number(task.n ?? 0), task.text, task.code ?? ""];
  if (turn.number > 1) {
    const texts = turn.answers.flatMap((one) => (Done.is(one.payload) ? [one.payload.text] : []));
    return finish(turn, [text, ...texts].join(" "));
  }
  switch (task.do ?? "echo") {
    case "echo": return finish(turn, code + text);
    case "sleep": await turn.sleep(n); break;
    case "hang": if (task.n === undefined) await new Promise(() => setInterval(() => {}, 1000)); else block(n); break;
    case "fail": throw new Fail(code, text, { retry: n === 1 });
    case "again": throw new Again(code, text);
    case "throw": throw new RangeError(text);
    case "exit": process.exit(n);
    case "print": process.stdout.write(text); break;
    case "stderr": process.stderr.write("x".repeat(n)); break;
    case "progress": turn.progress(text); break;
    case "notice": await turn.notice(code, text); break;
    case "view": {
      const { messages } = await turn.view();
      return finish(turn, hash(messages.map((one) => one.element.text).join("\n")), messages.length);
    }
    case "blob": return blob(turn, text, code === "hex");
    case "once": return finish(turn, await turn.once("work", task, async () => text));
    case "call": return Array.from({ length: n }, (_, at) => new To("peer", Task({ do: "echo", text: `${text}-${at}` })));
    case "many": return [...Array.from({ length: n }, (_, at) => Remark({ n: BigInt(at), text })), finish(turn, text)];
    case "large": return finish(turn, "x".repeat(n));
    case "bad": return finish(turn, "\u0001");
    case "silent": return [];
    default: break;
  }
  return finish(turn, text);
});

run();
