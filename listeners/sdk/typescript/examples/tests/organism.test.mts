/** The organism as it runs, and its own test files. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Weather, WeatherAnswer } from "../sdk/typescript/payloads/hello.ts";
import { organism, organismTests } from "../sdk/typescript/systole_sdk/testing.ts";

test("the organism answers", async (context) => {
  const client = await organism("organism.yaml", { set: { "listeners.weather.in_flight": "4" } });
  context.after(() => client.stop());
  const answer = await client.ask(Weather({ city: "Oslo" }), { returns: WeatherAnswer });
  assert.equal(answer.degrees, "-3");
});

for (const one of organismTests(["hello.test.yaml"])) test(one.name, () => one.check());
