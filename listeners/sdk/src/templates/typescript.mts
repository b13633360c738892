/** @NAME@: takes <@ASK@>, answers with <@ANSWER@>. */
import { realpathSync } from "node:fs";
import { @ASK-CLASS@, @ANSWER-CLASS@ } from "../sdk/typescript/payloads/@MODULE@.ts";
import { listener, run } from "../sdk/typescript/systole_sdk/index.ts";

export function answer(request: @ASK-CLASS@): @ANSWER-CLASS@ {
  return @ANSWER-CLASS@({ text: `You said: ${request.text}` });
}

listener(@ASK-CLASS@, answer);
if (realpathSync(process.argv[1] ?? "") === import.meta.filename) run();
