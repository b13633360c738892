// The worker as a service that can be found: it answers the requests of NATS micro services. It shows nothing of any
// delivery.
import { randomUUID } from "node:crypto";
import { type Broker, type BrokerPlace, writeToken } from "./broker.ts";
import type { Handlers } from "./listener.ts";

/** Answers PING, INFO and STATS. */
export class WorkerService {
  readonly #id = randomUUID().replaceAll("-", "").slice(0, 22);
  readonly #started = new Date().toISOString();
  readonly #place: BrokerPlace;
  readonly #handlers: Handlers;
  readonly #subject: string;
  #requests = 0;
  #errors = 0;
  #lastError = "";
  #nanoseconds = 0;

  constructor(broker: Broker, place: BrokerPlace, handlers: Handlers, subject: string) {
    this.#place = place;
    this.#handlers = handlers;
    this.#subject = subject;
    const name = writeToken(place.listener);
    for (const verb of ["PING", "INFO", "STATS"] as const) {
      for (const end of ["", `.${name}`, `.${name}.${this.#id}`]) {
        broker.subscribe(`$SRV.${verb}${end}`, {
          callback: (_, message) => {
            if (message.reply) broker.publish(message.reply, JSON.stringify(this.#answer(verb)));
          },
        });
      }
    }
  }

  /** Counts a delivery that took so many milliseconds. */
  count(milliseconds: number): void {
    this.#requests++;
    this.#nanoseconds += Math.round(milliseconds * 1e6);
  }

  /** Counts an error. */
  fail(words: string): void {
    this.#errors++;
    this.#lastError = words.slice(0, 512);
  }

  #answer(verb: "PING" | "INFO" | "STATS"): object {
    const name = writeToken(this.#place.listener);
    const accepts = [...this.#handlers.values()].map((one) => one.shape.element).join(" ");
    const head = {
      type: `io.nats.micro.v1.${verb.toLowerCase()}_response`,
      name,
      id: this.#id,
      version: "1.0.0",
      metadata: { organism: this.#place.organism, accepts, returns: "" },
    };
    const endpoint = { name: "deliveries", subject: this.#subject, queue_group: name };
    if (verb === "PING") return head;
    if (verb === "INFO") return { ...head, description: "", endpoints: [{ ...endpoint, metadata: {} }] };
    const counts = {
      num_requests: this.#requests,
      num_errors: this.#errors,
      last_error: this.#lastError,
      processing_time: this.#nanoseconds,
      average_processing_time: this.#requests === 0 ? 0 : Math.round(this.#nanoseconds / this.#requests),
    };
    return { ...head, started: this.#started, endpoints: [{ ...endpoint, ...counts }] };
  }
}
