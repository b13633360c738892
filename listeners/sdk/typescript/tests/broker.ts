// The pump's side of a broker: a real nats-server, and deliveries to a worker that pulls them.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, headers as makeHeaders, type Msg, type NatsConnection } from "@nats-io/transport-node";
import { CORE, LISTENER } from "../systole_sdk/documents.ts";
import { type Element, parseXml } from "../systole_sdk/xml.ts";
import { type Given, makeDelivery, WORKER } from "./pump.ts";

const SERVER = process.env["NATS_SERVER"] ?? "nats-server";
const DELIVERIES = "o.shop.dlv.calc_add";
export const PULLS = "$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_shop_BUS.calc_add";

async function findPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** A message that a worker sent, and how to answer it. */
export interface Sent { readonly element: Element; readonly text: string; readonly at: number; answer(inside?: string, more?: string): void }

export class Broker {
  port = 0;
  server: ChildProcess | undefined;
  client: NatsConnection | undefined;
  worker: ChildProcess | undefined;
  exited: Promise<number | null> = Promise.resolve(null);
  stderr = "";
  readonly pulls: { readonly msg: Msg; readonly at: number }[] = [];
  readonly sent: Sent[] = [];
  /** What was said on the reply subject of a delivery: +WPI, +ACK. */
  readonly acks: { readonly subject: string; readonly word: string; readonly at: number }[] = [];
  /** Whether each reply gets its receipt at once. */
  givesReceipts = true;
  #wakes: (() => void)[] = [];
  #count = 0;
  /** Where a stream is kept; nothing if the test itself answers the pulls. */
  readonly #folder: string;

  constructor(options: { readonly hasStream?: boolean } = {}) {
    this.#folder = options.hasStream ? mkdtempSync(join(tmpdir(), "systole-ts-")) : "";
  }

  async serve(): Promise<void> {
    this.port ||= await findPort();
    const stored = this.#folder === "" ? [] : ["-js", "-sd", this.#folder];
    this.server = spawn(SERVER, ["-a", "127.0.0.1", "-p", `${this.port}`, ...stored], { stdio: ["ignore", "ignore", "pipe"] });
    await new Promise<void>((resolve, reject) => {
      let said = "";
      this.server?.stderr?.on("data", (chunk: Buffer) => { said += chunk.toString(); if (said.includes("Server is ready")) resolve(); });
      this.server?.on("error", reject);
      this.server?.on("close", () => reject(new Error(said)));
    });
    const client = await connect({ servers: `127.0.0.1:${this.port}`, reconnect: false });
    this.client = client;
    client.subscribe(PULLS, { callback: (_, msg) => this.#note(() => this.pulls.push({ msg, at: performance.now() })) });
    for (const acks of ["ack.>", "$JS.ACK.>"]) client.subscribe(acks, { callback: (_, msg) => this.#note(() => this.acks.push({ subject: msg.subject, word: msg.string(), at: performance.now() })) });
    client.subscribe("o.shop.>", { callback: (_, msg) => this.#note(() => this.#take(msg)) });
    await client.flush();
    if (this.#folder !== "") await this.#openStream(client);
  }

  /** The stream and the consumer of a pump: a delivery then comes with the subject that it was published on. */
  async #openStream(client: NatsConnection): Promise<void> {
    const stream = "SYSTOLE_shop_BUS";
    const consumer = { durable_name: "calc_add", ack_policy: "explicit", filter_subject: DELIVERIES, ack_wait: 30e9 };
    for (const [api, body] of [
      [`STREAM.CREATE.${stream}`, { name: stream, subjects: ["o.shop.dlv.>"], storage: "memory", retention: "workqueue" }],
      [`CONSUMER.DURABLE.CREATE.${stream}.calc_add`, { stream_name: stream, config: consumer }],
    ] as const) {
      const said = (await client.request(`$JS.API.${api}`, JSON.stringify(body))).json<{ error?: object }>();
      if (said.error) throw new Error(JSON.stringify(said.error));
    }
  }

  /** Puts a delivery on the stream, and gives its name. */
  publish(given: Given): string {
    const { name, document } = makeDelivery(given);
    const headers = makeHeaders();
    headers.set("Systole-Reply", "o.shop.in.calc_add.0");
    headers.set("Systole-Protocol", "1");
    this.client?.publish(DELIVERIES, document, { headers });
    return name;
  }

  #note(add: () => void): void {
    add();
    for (const wake of this.#wakes.splice(0)) wake();
  }

  #take(msg: Msg): void {
    if (/^o\.shop\.(cancel|dlv)\./.test(msg.subject)) return;
    const element = parseXml(msg.data);
    const answer = (inside = "", more = ""): void => {
      const delivery = element.get("delivery") ?? "";
      const head = element.name === "reply" || element.name === "notice" ? "receipt" : `answer`;
      const id = head === "answer" ? ` id="${element.get("id")}"` : "";
      this.client?.publish(msg.reply ?? "", `<${head} xmlns="${LISTENER}"${id} delivery="${delivery}"${more}>${inside}</${head}>`);
    };
    this.sent.push({ element, text: `${msg.subject} ${msg.string()}`, at: performance.now(), answer });
    if (element.name === "reply" && this.givesReceipts) answer();
  }

  start(env: { readonly [name: string]: string } = {}, file = WORKER): void {
    const child = spawn(process.execPath, [file], {
      env: { ...process.env, SYSTOLE_NATS: `nats://127.0.0.1:${this.port}`, SYSTOLE_ORGANISM: "shop", SYSTOLE_LISTENER: "calc.add", SYSTOLE_SLOTS: "2", ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.worker = child;
    this.exited = once(child, "close").then(([code]: (number | null)[]) => { this.#note(() => {}); return code ?? null; });
    child.stderr?.on("data", (chunk: Buffer) => this.#note(() => (this.stderr += chunk.toString())));
  }

  /** Waits until something holds. */
  async until<T>(found: () => T | undefined | false): Promise<T> {
    for (;;) {
      const value = found();
      if (value !== undefined && value !== false) return value;
      await new Promise<void>((resolve) => this.#wakes.push(resolve));
    }
  }

  async pull(): Promise<Msg> {
    await this.until(() => this.pulls.length > 0);
    return (this.pulls.shift() as { msg: Msg }).msg;
  }

  status(pull: Msg, code: number, words: string): void {
    const headers = makeHeaders(code, words);
    this.client?.publish(pull.reply ?? "", "", { headers });
  }

  /** Hands a delivery to a pull, and gives its name and the subject on which it is acknowledged. */
  deliver(pull: Msg, given: Given, more: { readonly [header: string]: string } = {}): { name: string; ack: string } {
    const { name, document } = makeDelivery(given);
    const ack = `ack.${name}.${++this.#count}`;
    const headers = makeHeaders();
    for (const [key, value] of Object.entries({ "Systole-Reply": "o.shop.in.calc_add.0", "Systole-Protocol": "1", ...more })) headers.set(key, value);
    this.client?.publish(pull.reply ?? "", document, { headers, reply: ack });
    return { name, ack };
  }

  cancel(delivery: string): void {
    this.client?.publish("o.shop.cancel.calc_add", `<cancel xmlns="${LISTENER}" delivery="${delivery}"/>`);
  }

  /** The replies to a delivery so far. */
  replies(name: string): Sent[] {
    return this.sent.filter(({ element }) => element.name === "reply" && element.get("delivery") === name);
  }

  async reply(name: string): Promise<Sent> {
    return this.until(() => this.replies(name)[0]);
  }

  async acked(ack: string): Promise<void> {
    await this.until(() => this.acks.some((one) => one.subject === ack && one.word === "+ACK"));
  }

  renewals(ack: string): number[] {
    return this.acks.filter((one) => one.subject === ack && one.word === "+WPI").map((one) => one.at);
  }

  async stopServer(): Promise<void> {
    if (!this.server) return;
    const closed = once(this.server, "close");
    await this.client?.close();
    this.server.kill("SIGKILL");
    await closed;
    this.server = undefined;
  }

  async end(): Promise<void> {
    this.worker?.kill("SIGKILL");
    await this.stopServer();
    if (this.#folder !== "") rmSync(this.#folder, { recursive: true });
  }
}

export const REFUSAL = `<system-error xmlns="${CORE}" code="reply.stale-lease" message="over"/>`;
