// Scripted A2A 1.0 client on the stock JS SDK: drives a server through the steps of a script and
// prints what the SDK read as one JSON document. Usage: node agent.mjs SCRIPT URL
import { readFileSync } from "node:fs";
import * as a2a from "@a2a-js/sdk";
import {
  ClientFactory,
  createAuthenticatingFetchWithRetry,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";

const [scriptPath, url] = process.argv.slice(2);
if (!url) {
  console.error("usage: node agent.mjs SCRIPT URL");
  process.exit(2);
}
const script = { binding: "JSONRPC", steps: [], timeout: 60, ...JSON.parse(readFileSync(scriptPath, "utf8")) };
const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
  headers: async () => (script.token === undefined ? {} : { Authorization: `Bearer ${script.token}` }),
  shouldRetryWithHeaders: async () => undefined,
});
const transports = { JSONRPC: JsonRpcTransportFactory, "HTTP+JSON": RestTransportFactory };
const cardResolver = new DefaultAgentCardResolver({ fetchImpl });
const seen = {}; // what stands for $TASK, $CONTEXT and $REQUEST
let made; // the client, once a step needs it

function client() {
  const transport = new transports[script.binding]({ fetchImpl });
  made ??= new ClientFactory({ transports: [transport], cardResolver }).createFromUrl(url);
  return made.catch((error) => ((made = undefined), Promise.reject(error))); // the next step tries again
}

function fill(step) {
  let text = JSON.stringify(step);
  for (const [name, value] of Object.entries(seen)) text = text.replaceAll(name, () => JSON.stringify(value).slice(1, -1));
  return JSON.parse(text);
}

// What the SDK read, as JSON. The tasks in it are noted: of a list the first, as the newest, last.
function read(type, value) {
  const found = JSON.parse(JSON.stringify(type.toJSON(value)));
  for (const task of [...(found.tasks ?? []).toReversed(), found, ...Object.values(found)]) {
    if (typeof task?.contextId !== "string") continue;
    seen.$TASK = task.taskId || task.id || seen.$TASK;
    seen.$CONTEXT = task.contextId;
    for (const { data } of task.status?.message?.parts ?? []) if (data?.request) seen.$REQUEST = data.request;
  }
  return found;
}

async function collect(events, leave) {
  const out = [];
  for await (const event of events) {
    out.push(read(a2a.StreamResponse, event));
    if (out.length === leave) break;
  }
  return out;
}

const messageOf = (step, key) => a2a.SendMessageRequest.fromJSON({ message: step[key], configuration: step.configuration });

const calls = {
  card: async () => read(a2a.AgentCard, await cardResolver.resolve(url)),
  extended: async (agent, step, options) => read(a2a.AgentCard, await agent.getAgentCard(options)),
  send: async (agent, step, options) => {
    const value = await agent.sendMessage(messageOf(step, "send"), options);
    const $case = "messageId" in value ? "message" : "task"; // the SDK takes the tag off
    return read(a2a.SendMessageResponse, { payload: { $case, value } });
  },
  stream: async (agent, step, options) => collect(agent.sendMessageStream(messageOf(step, "stream"), options), step.leave),
  get: async (agent, { get: id, historyLength }, options) =>
    read(a2a.Task, await agent.getTask(a2a.GetTaskRequest.fromJSON({ id, historyLength }), options)),
  list: async (agent, { list }, options) =>
    read(a2a.ListTasksResponse, await agent.listTasks(a2a.ListTasksRequest.fromJSON(list), options)),
  cancel: async (agent, { cancel: id }, options) =>
    read(a2a.Task, await agent.cancelTask(a2a.CancelTaskRequest.fromJSON({ id }), options)),
  subscribe: async (agent, { subscribe: id, leave }, options) =>
    collect(agent.resubscribeTask(a2a.SubscribeToTaskRequest.fromJSON({ id }), options), leave),
};

async function run(step) {
  const key = Object.keys(step).find((key) => Object.hasOwn(calls, key));
  if (!key) throw new Error(`no such step: ${JSON.stringify(step)}`);
  const options = { signal: AbortSignal.timeout(script.timeout * 1000) };
  return calls[key](key === "card" ? undefined : await client(), step, options);
}

const steps = [];
for (const step of script.steps) {
  const failure = (error) => ({ error: { kind: error.name, message: error.message } });
  steps.push(await run(fill(step)).catch(failure));
  if (step.then === "exit") process.exit(9);
}
process.stdout.write(JSON.stringify({ steps }) + "\n", () => process.exit(0));
