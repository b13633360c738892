/** Asks, approves and follows: a client beside the running organism. */
import { Order, Ordered, Weather, WeatherAnswer } from "./sdk/typescript/payloads/hello.ts";
import { Client, Unanswered } from "./sdk/typescript/systole_sdk/index.ts";

const client = new Client();
const answer = await client.ask(Weather({ city: "Rome" }), { returns: WeatherAnswer });
console.log(answer.text);

try {
  await client.ask(Weather({ city: "Atlantis" }), { returns: WeatherAnswer, key: "a-1" });
} catch (error) {
  if (!(error instanceof Unanswered)) throw error;
  console.log(error.message);
}

const order = Order({ article: "umbrella", count: 2, city: "Rome" });
const sent = await client.send(order, { subject: "rain" });
for await (const _event of client.events({ from: 0 })) {
  const { approvals } = await client.approvals();
  const waiting = approvals.find((one) => one.kind === "approval");
  if (waiting?.kind !== "approval") continue;
  await client.approve(waiting, "two are fine");
  break;
}
const ordered = await client.wait(sent, { returns: Ordered });
console.log(ordered.text);
