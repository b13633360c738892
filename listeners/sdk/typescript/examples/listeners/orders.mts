/** orders: takes <order>, asks for the weather, pays once, answers with <ordered>. */
import { realpathSync } from "node:fs";
import { Order, Ordered, Weather, WeatherAnswer } from "../sdk/typescript/payloads/hello.ts";
import { Fail, listener, run } from "../sdk/typescript/systole_sdk/index.ts";

/** Stands for a bank that knows keys: the same key is the same payment. */
async function charge(key: string, order: Order): Promise<string> {
  if (order.count > 50) throw new Fail("bank.too-much", "nothing was charged");
  return `R-${order.count}-${key.length}`;
}

export const orders = listener(Order, async (request, turn) => {
  if (turn.number === 1) return Weather({ city: request.city });
  const [answer] = turn.answers;
  if (!WeatherAnswer.is(answer?.payload)) {
    throw new Fail("orders.no-weather", answer?.refusal?.words ?? "there is no answer");
  }
  const receipt = await turn.once("charge", request, () => charge(turn.key, request));
  return Ordered({ receipt, text: `${request.article}: ${answer.payload.text}` });
}, { retry: [TypeError] });

if (realpathSync(process.argv[1] ?? "") === import.meta.filename) run();
