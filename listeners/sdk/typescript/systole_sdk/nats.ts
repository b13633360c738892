// The program as a worker over NATS: it pulls deliveries, renews them while it works, and sends each reply until its
// receipt has come. `docs/over-nats.md` says what is sent, byte for byte.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Broker, type BrokerMessage, type BrokerPlace, connectBroker, nameInbox, readPlace, StartFault, writeToken } from "./broker.ts";
import { CANCEL_MS, checkProtocol, ENVELOPE, Envelope, findRefusal, LISTENER, readCount, Refused } from "./documents.ts";
import { type Handlers, type Job, startJob } from "./listener.ts";
import { WorkerService } from "./service.ts";
import { type Carrier, describeError } from "./turn.ts";
import { type Element, parseXml } from "./xml.ts";

/** One delivery, and 5 s of waiting at most. */
const PULL = '{"batch":1,"expires":5000000000}';
const PULL_MS = 7_000;
const ANSWER_MS = 5_000;
const RENEW_MS = 1_000;
const FRAME_BYTES = 1024;
/** Cancels that came before their delivery, and replies that are kept in case a delivery comes again. */
const REMEMBERED = 1_000;
const KEPT_REPLIES = 64;
const KEPT_BYTES = 64 << 10;

export interface NatsOptions {
  readonly concurrency: number;
  readonly grace?: number;
  readonly onRefused?: (refused: Refused) => void;
}

/** Serves deliveries until TERM, and gives the exit code. */
export async function serveNats(handlers: Handlers, options: NatsOptions): Promise<number> {
  try {
    return await new NatsWorker(handlers, options, readPlace(process.env)).serve();
  } catch (error) {
    if (!(error instanceof StartFault)) throw error;
    console.error(error.message);
    return 2;
  }
}

/** One place for a delivery, with an inbox of its own: an answer to a pull does not name the pull. */
interface Slot {
  readonly inbox: string;
  /** The pull on its way. */
  pull: string;
  /** Ends the wait for it. */
  take: (answer: BrokerMessage | undefined) => void;
}

/** A delivery that is held. */
interface Held {
  readonly envelope: Envelope;
  /** The subject for documents about it. */
  readonly said: string;
  /** The subjects on which it is renewed and acknowledged: one for each time that it came. */
  readonly messages: Set<string>;
  job: Job | undefined;
  isCancelled: boolean;
  /** Called when it is called back. */
  stop: () => void;
}

class NatsWorker {
  readonly #handlers: Handlers;
  readonly #options: NatsOptions;
  readonly #place: BrokerPlace;
  readonly #subject: { readonly pull: string; readonly live: string; readonly cancel: string };
  readonly #inbox: string;
  readonly #held = new Map<string, Held>();
  /** Deliveries that came while all slots were busy. */
  readonly #waiting: Held[] = [];
  readonly #slots: Slot[] = [];
  readonly #calledBack = new Set<string>();
  readonly #kept = new Map<string, string>();
  /** Aborted once nothing more is taken. */
  readonly #stopping = new AbortController();
  #broker: Broker | undefined;
  #service: WorkerService | undefined;
  #pulled = 0;
  #ignored = 0;
  #isConnected = true;
  #wakes: (() => void)[] = [];
  #end: (code: number) => void = () => {};

  constructor(handlers: Handlers, options: NatsOptions, place: BrokerPlace) {
    this.#handlers = handlers;
    this.#options = options;
    this.#place = place;
    const [organism, listener] = [writeToken(place.organism), writeToken(place.listener)];
    this.#subject = {
      pull: `$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_${organism}_BUS.${listener}`,
      live: `o.${organism}.live.${listener}`,
      cancel: `o.${organism}.cancel.${listener}`,
    };
    this.#inbox = `${nameInbox(place)}.${randomUUID().replaceAll("-", "")}`;
  }

  async serve(): Promise<number> {
    const ended = new Promise<number>((resolve) => (this.#end = resolve));
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => this.#stop());
    const code = await Promise.race([this.#work(), ended]);
    if (this.#broker && this.#isConnected) await Promise.race([this.#broker.flush().then(() => this.#broker?.close()), sleep(1_000)]);
    return code;
  }

  #stop(): void {
    const leave = (why: string): void => {
      if (this.#held.size > 0) console.error(`systole-sdk: ended ${why} with open deliveries: ${[...this.#held.keys()].join(", ")}`);
      this.#end(this.#held.size > 0 ? 1 : 0);
    };
    if (this.#stopping.signal.aborted || !this.#broker) return leave("at once");
    this.#stopping.abort();
    for (const wake of this.#wakes.splice(0)) wake();
    for (const slot of this.#isConnected ? [] : this.#slots) slot.take(undefined);
    const grace = this.#options.grace ?? 30;
    setTimeout(() => leave(`after ${grace} s`), grace * 1_000).unref();
  }

  async #work(): Promise<number> {
    const broker = await connectBroker(this.#place);
    this.#broker = broker;
    void this.#watch(broker);
    void broker.closed().then((error) => {
      if (this.#stopping.signal.aborted) return;
      console.error("systole-sdk: the connection to the broker is closed:", error ?? "");
      this.#end(1);
    });
    broker.subscribe(this.#subject.cancel, { callback: (_, message) => this.#cancel(message) });
    this.#service = new WorkerService(broker, this.#place, this.#handlers, this.#subject.pull);
    const renewal = setInterval(() => this.#renew(), RENEW_MS);
    await Promise.all(Array.from({ length: this.#options.concurrency }, () => this.#serveSlot(this.#openSlot(broker))));
    clearInterval(renewal);
    return 0;
  }

  async #watch(broker: Broker): Promise<void> {
    for await (const { type, error } of broker.status()) {
      if (type === "disconnect") this.#isConnected = false;
      if (type === "reconnect") {
        this.#isConnected = true;
        for (const wake of this.#wakes.splice(0)) wake();
        this.#renew();
      }
      // The broker has forgotten the pulls of a connection that broke.
      if (type === "disconnect" || type === "reconnect") for (const slot of this.#slots) slot.take(undefined);
      if (type === "disconnect" || type === "reconnect" || type === "error") console.error(`systole-sdk: broker: ${type}`, error?.message ?? "");
    }
  }

  /** Waits for the connection, or until nothing more is taken. */
  async #connected(stop?: AbortSignal): Promise<void> {
    while (!this.#isConnected && !stop?.aborted) await new Promise<void>((resolve) => this.#wakes.push(resolve));
  }

  #publish(subject: string, data: string, reply?: string): void {
    try {
      this.#broker?.publish(subject, data, reply === undefined ? {} : { reply });
    } catch (error) {
      console.error("systole-sdk: broker:", error instanceof Error ? error.message : error);
    }
  }

  #renew(): void {
    if (!this.#isConnected) return;
    for (const held of this.#held.values()) {
      if (!held.isCancelled) for (const message of held.messages) this.#publish(message, "+WPI");
    }
  }

  #openSlot(broker: Broker): Slot {
    const slot: Slot = { inbox: `${this.#inbox}.${this.#slots.length}`, pull: "", take: () => {} };
    this.#slots.push(slot);
    broker.subscribe(`${slot.inbox}.*`, { callback: (_, message) => this.#take(slot, message) });
    return slot;
  }

  /** One slot: it works on a delivery, or asks for one. */
  async #serveSlot(slot: Slot): Promise<void> {
    const { signal } = this.#stopping;
    for (let idle = 0; ; ) {
      const next = this.#waiting.shift();
      if (next) await this.#workOn(next);
      else if (signal.aborted) return;
      else if (!this.#isConnected) await this.#connected(signal);
      else if (await this.#pull(slot)) idle = 0;
      else await sleep(Math.min(1_000 * 2 ** idle++, 5_000), undefined, { signal }).catch(() => {});
    }
  }

  /** Asks for a delivery, which is then waiting. False if the broker hands out nothing for a while. */
  async #pull(slot: Slot): Promise<boolean> {
    slot.pull = `${slot.inbox}.${++this.#pulled}`;
    let timer: NodeJS.Timeout | undefined;
    const answer = await new Promise<BrokerMessage | undefined>((resolve) => {
      slot.take = resolve;
      timer = setTimeout(() => resolve(undefined), PULL_MS);
      this.#publish(this.#subject.pull, PULL, slot.pull);
    });
    clearTimeout(timer);
    slot.take = () => {};
    return !answer || isDelivery(answer) || answer.headers?.code === 408;
  }

  /** Takes an answer to a pull: a delivery, which has a subject of its own, or why there is none. */
  #take(slot: Slot, message: BrokerMessage): void {
    if (isDelivery(message)) this.#hold(message);
    if (isDelivery(message) || message.subject === slot.pull) slot.take(message);
  }

  #hold(message: BrokerMessage): void {
    const wrong = checkProtocol(message.headers?.get("Systole-Protocol") || undefined);
    if (wrong !== undefined) {
      console.error(wrong);
      return this.#end(2);
    }
    const said = message.headers?.get("Systole-Reply");
    try {
      if (!said || !message.reply) throw new Error("it has no Systole-Reply, or nothing to be acknowledged by");
      const element = parseXml(message.data);
      if (!element.is(ENVELOPE, "message")) throw new Error(`<${element.name}> of ${element.namespace} is no envelope`);
      const envelope = new Envelope(element);
      if (this.#calledBack.has(envelope.delivery)) return;
      const known = this.#held.get(envelope.delivery);
      if (known) return void known.messages.add(message.reply);
      const held: Held = { envelope, said, messages: new Set([message.reply]), job: undefined, isCancelled: false, stop: () => {} };
      this.#held.set(envelope.delivery, held);
      this.#waiting.push(held);
    } catch (error) {
      console.error("systole-sdk: a message is skipped:", error instanceof Error ? error.message : error);
    }
  }

  #cancel(message: BrokerMessage): void {
    try {
      const element = parseXml(message.data);
      const delivery = element.is(LISTENER, "cancel") ? element.get("delivery") : undefined;
      if (delivery === undefined) return;
      keep(this.#calledBack, REMEMBERED).add(delivery);
      const held = this.#held.get(delivery);
      if (!held) return;
      held.isCancelled = true;
      held.job?.cancel();
      held.stop();
    } catch (error) {
      console.error("systole-sdk: a message is skipped:", error instanceof Error ? error.message : error);
    }
  }

  async #workOn(held: Held): Promise<void> {
    const delivery = held.envelope.delivery;
    const begun = performance.now();
    const stopped = new Promise<undefined>((resolve) => (held.stop = () => resolve(undefined)));
    try {
      if (held.isCancelled) return;
      const kept = this.#kept.get(delivery);
      if (kept === undefined) held.job = startJob(this.#handlers, held.envelope, this.#carrier(held), () => this.#mostBytes());
      const reply = kept ?? (await Promise.race([held.job?.reply, stopped]));
      if (reply === undefined || held.isCancelled) return await this.#ignore(held);
      if (reply.length <= KEPT_BYTES) keep(this.#kept, KEPT_REPLIES).set(delivery, reply);
      const receipt = await this.#sendUntilAnswered(held, reply);
      if (!receipt) return;
      for (const message of held.messages) this.#publish(message, "+ACK");
      this.#report(receipt, delivery);
    } finally {
      this.#held.delete(delivery);
      this.#service?.count(performance.now() - begun);
    }
  }

  /** Work that was called back keeps its place until it ends. */
  async #ignore(held: Held): Promise<void> {
    this.#held.delete(held.envelope.delivery);
    this.#ignored++;
    const timer = setTimeout(() => {
      if (this.#ignored < this.#options.concurrency) return;
      console.error("systole-sdk: all places have work that was called back and goes on: the program ends");
      this.#end(1);
    }, CANCEL_MS);
    await Promise.race([held.job?.reply, aborted(this.#stopping.signal)]);
    clearTimeout(timer);
    this.#ignored--;
  }

  /** Sends the same bytes until they are answered. Nothing if the delivery is called back before. */
  async #sendUntilAnswered(held: Held, document: string): Promise<Element | undefined> {
    for (let pause = 100; !held.isCancelled; pause = Math.min(pause * 2, 5_000)) {
      await this.#connected();
      try {
        const answer = await this.#broker?.request(held.said, document, { timeout: ANSWER_MS });
        const element = parseXml(answer?.data ?? new Uint8Array());
        if (element.namespace === LISTENER && (element.name === "receipt" || element.name === "answer")) return element;
      } catch {
        // No responder, no answer in time, a connection that broke: it is not known to be on disk.
      }
      await sleep(pause);
    }
    return undefined;
  }

  #mostBytes(): number {
    return (this.#broker?.info?.max_payload ?? 1 << 20) - FRAME_BYTES;
  }

  #carrier(held: Held): Carrier {
    const ask = async (document: string): Promise<Element> => {
      const bytes = Buffer.byteLength(document);
      if (bytes > this.#mostBytes()) throw new Error(`a document has ${bytes} bytes, and the broker takes ${this.#mostBytes()}`);
      return (await this.#sendUntilAnswered(held, document)) ?? (await new Promise(() => {}));
    };
    return {
      progress: (document) => {
        if (this.#isConnected) this.#publish(this.#subject.live, document);
      },
      notice: async (document) => this.#report(await ask(document), held.envelope.delivery),
      ask: (_, document) => ask(document),
    };
  }

  /** What the author does with a refusal may fail: the worker lives. */
  async #tellAuthor(onRefused: (refused: Refused) => unknown, refused: Refused): Promise<void> {
    try {
      await onRefused(refused);
    } catch (error) {
      console.error("systole-sdk: onRefused:", describeError(error));
    }
  }

  /** Tells the author what was refused. */
  #report(receipt: Element, delivery: string): void {
    const items = receipt.elements.filter((one) => one.name === "refused");
    const refused = [findRefusal(receipt, delivery), ...items.map((one) => findRefusal(one, delivery, readCount(one.get("ordinal"))))];
    if (receipt.get("outcome") === "superseded") refused.push(new Refused("reply.superseded", "another reply was taken before", delivery));
    for (const one of refused) {
      if (!one) continue;
      this.#service?.fail(one.message);
      if (this.#options.onRefused) void this.#tellAuthor(this.#options.onRefused, one);
      else console.error(`systole-sdk: refused${one.ordinal === undefined ? "" : ` item ${one.ordinal}`} of ${one.delivery}: ${one.message}`);
    }
  }
}

function isDelivery(message: BrokerMessage): boolean {
  return !message.headers?.code;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Forgets the oldest, so that one more has room. */
function keep<T extends { readonly size: number; keys(): Iterator<string>; delete(key: string): boolean }>(all: T, most: number): T {
  const oldest = all.keys().next();
  if (all.size >= most && !oldest.done) all.delete(oldest.value);
  return all;
}
