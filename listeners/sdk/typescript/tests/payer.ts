// A worker that pays at a ledger, once for each request.
import { Fail, listener, run } from "../systole_sdk/index.ts";
import { Done, Task } from "./samples/conform.ts";

async function charge(key: string, amount: string): Promise<string> {
  const headers = { "x-pid": String(process.pid) };
  const answer = await fetch(`${process.env["LEDGER"]}/${encodeURIComponent(key)}`, { method: "POST", body: amount, headers });
  if (answer.status !== 200) throw new Fail("ledger.refused", await answer.text());
  return answer.text();
}

listener(Task, async (task, turn) => {
  const text = await turn.once("charge", task, () => charge(turn.key, task.text));
  return Done({ text, key: turn.key, attempt: BigInt(turn.attempt), turn: BigInt(turn.number), sender: turn.sender });
});

run();
