/** The functions alone, through the bytes that they read and write. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { orders } from "../listeners/orders.mts";
import { weather } from "../listeners/weather.mts";
import { Order, Ordered, Weather, WeatherAnswer } from "../sdk/typescript/payloads/hello.ts";
import { DecimalText } from "../sdk/typescript/systole_sdk/index.ts";
import { trial } from "../sdk/typescript/systole_sdk/testing.ts";

const sunny = WeatherAnswer({ text: "21 degrees in Rome", degrees: DecimalText(21) });

test("the weather of a city", async () => {
  const tried = trial(weather);
  const reply = await tried.send(Weather({ city: "Rome" }));
  assert.deepEqual(reply.payload, sunny);
  assert.deepEqual(tried.progress, ["asking the station of Rome"]);
  const unknown = await tried.send(Weather({ city: "Atlantis" }));
  assert.equal(unknown.failure?.code, "weather.unknown-city");
});

test("an order is paid once, also after a crash", async () => {
  const tried = trial(orders);
  const asked = await tried.send(Order({ article: "umbrella", count: 2, city: "Rome" }));
  assert.deepEqual(asked.payload, Weather({ city: "Rome" }));
  const first = await tried.answers(sunny);
  const again = await tried.crash();
  assert.deepEqual(again.payload, first.payload);
  assert.equal(tried.journal.length, 2);
  assert.ok(Ordered.is(first.payload));
});
