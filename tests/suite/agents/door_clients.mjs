// Clients for JavaScript: client.mjs URL TOKEN, then lines of JSON on stdin, one for each request, as for
// response_client.py. `chat` asks in pieces by the AI SDK, with the whole history.
import { createInterface } from "node:readline";

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";
import OpenAI from "openai";

const [baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 2, timeout: 120_000 });
const provider = createOpenAICompatible({ name: "systole", baseURL, apiKey });

function describe(response) {
  const items = response.output.map((item) => {
    if (item.type === "message") return ["message", item.content[0].text];
    if (item.type === "mcp_approval_request") return ["asks", item.id, item.server_label, item.name, item.arguments];
    return [item.type];
  });
  return { id: response.id, status: response.status, text: response.output_text, items };
}

async function watch(stream, leave) {
  const texts = {};
  let [number, heard, id, final] = [null, 0, null, null];
  for await (const event of stream) {
    if (number !== null && event.sequence_number <= number) throw new Error(`${event.sequence_number} after ${number}`);
    number = event.sequence_number;
    if (event.type === "response.output_text.delta") {
      texts[event.item_id] = (texts[event.item_id] ?? "") + event.delta;
      heard += 1;
    }
    if (event.type === "response.output_item.done" && event.item.status === "incomplete") delete texts[event.item.id];
    if (event.response) {
      id = event.response.id;
      final = event.response.status;
    }
    if (leave && heard === leave) break;
  }
  return { texts, number, id, final };
}

async function work(wanted) {
  if (wanted.create) return describe(await client.responses.create({ model: "helper", ...wanted.create }));
  if (wanted.stream) {
    return watch(await client.responses.create({ model: "helper", ...wanted.stream, stream: true }), wanted.leave);
  }
  if (wanted.watch) {
    const [id, starting_after] = wanted.watch;
    return watch(await client.responses.retrieve(id, { stream: true, starting_after }), wanted.leave);
  }
  if (wanted.whole) {
    return describe(await client.responses.stream({ model: "helper", ...wanted.whole }).finalResponse());
  }
  if (wanted.get) return describe(await client.responses.retrieve(wanted.get));
  if (wanted.cancel) return describe(await client.responses.cancel(wanted.cancel));
  if (wanted.converse) return { id: (await client.conversations.create()).id };
  if (wanted.items) {
    const said = [];
    for await (const item of client.conversations.items.list(wanted.items, { order: "asc", limit: 1 })) {
      said.push([item.role, item.content[0].text]);
    }
    return said;
  }
  let [text, beside] = ["", ""];
  const result = streamText({ model: provider("helper"), messages: wanted.chat });
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") text += part.text;
    if (part.type === "reasoning-delta") beside += part.text;
  }
  return { text, beside, finish: await result.finishReason };
}

for await (const line of createInterface({ input: process.stdin })) {
  let said;
  try {
    said = { said: await work(JSON.parse(line)) };
  } catch (error) {
    said = { error: error.status ?? error.statusCode ?? String(error), body: error.error ?? error.responseBody };
  }
  console.log(JSON.stringify(said));
}
