/** weather: takes <weather>, answers with <weather-answer>. */
import { realpathSync } from "node:fs";
import { Weather, WeatherAnswer } from "../sdk/typescript/payloads/hello.ts";
import { listener, run } from "../sdk/typescript/systole_sdk/index.ts";

export function answer(request: Weather): WeatherAnswer {
  return WeatherAnswer({ text: `You said: ${request.text}` });
}

listener(Weather, answer);
if (realpathSync(process.argv[1] ?? "") === import.meta.filename) run();
