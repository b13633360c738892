/** weather: takes <weather>, answers with <weather-answer>. */
import { realpathSync } from "node:fs";
import { Weather, WeatherAnswer } from "../sdk/typescript/payloads/hello.ts";
import { DecimalText, Fail, listener, run } from "../sdk/typescript/systole_sdk/index.ts";

const STATIONS = new Map([["Rome", 21], ["Oslo", -3]]);

export const weather = listener(Weather, async (request, turn) => {
  turn.progress(`asking the station of ${request.city}`);
  const celsius = STATIONS.get(request.city);
  if (celsius === undefined) {
    throw new Fail("weather.unknown-city", `${request.city} has no station`);
  }
  const degrees = request.unit === "fahrenheit" ? celsius * 1.8 + 32 : celsius;
  const text = `${degrees} degrees in ${request.city}`;
  return WeatherAnswer({ text, degrees: DecimalText(degrees) });
});

if (realpathSync(process.argv[1] ?? "") === import.meta.filename) run();
