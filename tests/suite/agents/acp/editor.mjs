// Scripted ACP v1 editor on the stock JS SDK: drives an agent process through the steps of a
// script and prints what came back as one JSON document. Usage: node editor.mjs SCRIPT COMMAND [ARG…]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { Readable, Writable } from "node:stream";
import { setImmediate as tick } from "node:timers/promises";
import { client, methods, ndJsonStream, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk";

const [scriptPath, command, ...args] = process.argv.slice(2);
if (!command) {
  console.error("usage: node editor.mjs SCRIPT COMMAND [ARG…]");
  process.exit(2);
}
const script = { capabilities: {}, steps: [], permissions: [], forms: [], timeout: 60, ...JSON.parse(readFileSync(scriptPath, "utf8")) };
const out = { initialized: null, steps: [], updates: [], permissions: [], forms: [], cancelled: [], exit: null };
const { session: ofAgent } = methods.agent;
const calls = { new: ofAgent.new, load: ofAgent.load, resume: ofAgent.resume, list: ofAgent.list, close: ofAgent.close };
let agent; // the SDK's handle for calling the agent
let session = null; // the current session's id
let step = -1; // index of the running step: -1 during initialize, steps.length after the last
let turn = null; // the running prompt: { sessionId, cancelOn, cancelled }

function cancelAt(event, sessionId) {
  if (!turn || turn.cancelled || turn.cancelOn !== event || turn.sessionId !== sessionId) return;
  turn.cancelled = true;
  agent.notify(ofAgent.cancel, { sessionId }).catch(() => {});
}

function decide({ options }) {
  if (turn?.cancelled) return { outcome: "cancelled" };
  const answer = script.permissions.shift() ?? "cancelled";
  if (answer.then === "exit") process.exit(9);
  if (answer === "cancelled") return { outcome: "cancelled" };
  const option = options.find(({ kind }) => kind === `${answer}_once`);
  if (!option) throw new Error(`the agent offers no option for ${JSON.stringify(answer)}`);
  return { outcome: "selected", optionId: option.optionId };
}

const editor = client({ name: "scripted-editor" })
  .onNotification(methods.client.session.update, ({ params }) => {
    out.updates.push({ ...params, step });
    const kind = params.update.sessionUpdate;
    if (kind === "agent_message_chunk") cancelAt("update", params.sessionId);
    if (kind === "tool_call") cancelAt("tool", params.sessionId);
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    out.permissions.push(params);
    cancelAt("permission", params.sessionId);
    return { outcome: decide(params) };
  })
  .onRequest(methods.client.elicitation.create, ({ params }) => {
    out.forms.push(params);
    return script.forms.shift() ?? { action: "cancel" };
  })
  .onNotification(methods.protocol.cancelRequest, (params) => params, ({ params }) => {
    out.cancelled.push(params.requestId);
  });

async function bounded(promise, seconds = script.timeout) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`timed out after ${seconds} s`)), seconds * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const failure = (error) => ({
  error: { code: error instanceof RequestError ? error.code : null, message: error.message, data: error.data ?? undefined },
});

async function run(written) {
  const spec = JSON.parse(JSON.stringify(written).replaceAll('"$session"', () => JSON.stringify(session)));
  if (spec.raw) return agent.request(spec.raw.method, spec.raw.params);
  if (spec.prompt !== undefined) {
    const prompt = typeof spec.prompt === "string" ? [{ type: "text", text: spec.prompt }] : spec.prompt;
    turn = { sessionId: session, cancelOn: spec.cancel_on, cancelled: false };
    return agent.request(ofAgent.prompt, { sessionId: session, prompt });
  }
  const [key] = Object.keys(spec);
  if (!calls[key]) throw new Error(`no such step: ${key}`);
  const result = await agent.request(calls[key], spec[key]);
  if (key === "new") session = result?.sessionId ?? null;
  if (key === "load" || key === "resume") session = spec[key].sessionId;
  return result;
}

const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const exited = once(child, "exit").then(([code, signal]) => code ?? -constants.signals[signal]);
await once(child, "spawn");
child.stdin.on("error", () => {}); // an agent that is gone shows as a closed connection
const connection = editor.connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
agent = connection.agent;
try {
  const hello = { protocolVersion: PROTOCOL_VERSION, clientCapabilities: script.capabilities };
  out.initialized = await bounded(agent.request(methods.agent.initialize, hello));
  for (step = 0; step < script.steps.length; step++) {
    out.steps.push(await bounded(run(script.steps[step])).then((result) => ({ result }), failure));
    turn = null;
    await tick(); // updates that came before the answer still belong to this step
  }
} catch (error) {
  out.initialized = failure(error); // and no step is run
}
child.stdin.end();
out.exit = await bounded(exited).catch(() => (child.kill("SIGKILL"), null)); // null: it had to be killed
await bounded(connection.closed, 2).catch(() => {}); // the agent's last words
process.stdout.write(JSON.stringify(out) + "\n", () => process.exit(0));
