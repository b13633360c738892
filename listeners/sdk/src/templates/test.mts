/** Tries what @NAME@ answers, without a broker and without an organism. */
import { @ASK-CLASS@ } from "../sdk/typescript/payloads/@MODULE@.ts";
import { answer } from "./@NAME@.mts";

const reply = answer(@ASK-CLASS@({ text: "Who is there?" }));
if (reply.text !== "You said: Who is there?") throw new Error(`unexpected: ${reply.text}`);
console.log("ok");
