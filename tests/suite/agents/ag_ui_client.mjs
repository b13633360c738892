// A web app with the client of AG-UI: client.mjs URL TOKEN, then lines of JSON on stdin, one for each run. What is said on
// its way goes out as `event`; then comes what the client has: its messages, and what waits for it.
import { createInterface } from "node:readline";

import { HttpAgent } from "@ag-ui/client";

import { resumingFetch } from "./resuming-fetch.mjs";

const [url, token] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };
const agents = new Map();
// What the client has to put right or to leave out, it warns of.
const warnings = [];
console.warn = (...words) => warnings.push(words.join(" "));
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

// Reads a thread in place of a run.
class Reader extends HttpAgent {
  requestInit() {
    return { method: "GET", headers: this.headers, signal: this.abortController.signal };
  }
}

function find({ tab, thread = "t", entry = "helper", plain, show }) {
  const name = `${tab ?? ""} ${entry} ${thread} ${show ?? ""}`;
  if (!agents.has(name)) {
    const path = show ? `${url}/ag-ui/${entry}/threads/${thread}` : `${url}/ag-ui/${entry}`;
    const settings = { url: path, threadId: thread, headers };
    if (!plain) settings.fetch = resumingFetch({ pause: 100, tries: 300, most: 1000 });
    agents.set(name, new (show ? Reader : HttpAgent)(settings));
  }
  return agents.get(name);
}

function describe(message) {
  if (message.toolCalls) return ["calls", ...message.toolCalls.map((call) => [call.function.name, call.function.arguments])];
  const of = message.subagentRunId ? [message.subagentRunId] : [];
  return [message.role, typeof message.content === "string" ? message.content : JSON.stringify(message.content), ...of];
}

async function run(wanted) {
  const agent = find(wanted);
  const said = { kinds: [], errors: [], customs: [], states: [], subagents: [], activities: [], outcome: null };
  const subscriber = {
    onEvent({ event }) {
      said.kinds.push(event.type);
      if (event.type === "TEXT_MESSAGE_CONTENT") {
        say({ event: event.delta });
        if (wanted.leave && (wanted.leave -= 1) === 0) agent.abortRun();
      }
      if (event.type === "REASONING_MESSAGE_CONTENT") say({ event: { thought: event.delta } });
      if (event.type === "RUN_ERROR") said.errors.push([event.code, event.message]);
      if (event.type === "CUSTOM") said.customs.push([event.name, event.value]);
      if (event.type === "STATE_SNAPSHOT") said.states.push(event.snapshot);
      if (event.type.startsWith("SUBAGENT")) said.subagents.push([event.type, event.name, event.subagentRunId, event.parentSubagentRunId, event.outcome]);
      if (event.type === "ACTIVITY_SNAPSHOT") {
        said.activities.push(event.content);
        say({ event: { activity: event.content } });
      }
      if (event.type === "RUN_FINISHED") [said.outcome, said.result, said.usage, said.metadata] = [event.outcome, event.result, event.usage, event.metadata];
    },
  };
  if (wanted.forget) agent.pendingInterrupts = [];
  if (wanted.say !== undefined) agent.addMessage({ id: crypto.randomUUID(), role: "user", content: wanted.say });
  const answers = wanted.resume?.map((answer, at) => ({ interruptId: agent.pendingInterrupts[at]?.id, ...answer }));
  const { tools, forwardedProps } = wanted;
  try {
    await agent.runAgent({ runId: wanted.run, resume: answers, tools, forwardedProps }, subscriber);
  } catch (error) {
    said.thrown = { status: error.status, payload: error.payload, words: error.message };
  }
  said.messages = agent.messages.filter((message) => message.role !== "activity").map(describe);
  said.ids = agent.messages.map((message) => message.id);
  said.interrupts = agent.pendingInterrupts;
  return said;
}

async function ask({ method = "GET", path, body }) {
  const response = await fetch(url + path, { method, headers, body });
  const text = await response.text();
  return { status: response.status, body: text && JSON.parse(text) };
}

for await (const line of createInterface({ input: process.stdin })) {
  const wanted = JSON.parse(line);
  // Runs of several tabs go on at once.
  (wanted.path ? ask(wanted) : run(wanted)).then(
    (said) => say({ said, warnings, tab: wanted.tab }),
    (error) => say({ said: null, error: String(error) }),
  );
}
