// The functions of a program, by the element that each takes, and the work on one delivery. Nothing here knows a carrier.
import {
  Again, Cancelled, CORE, Envelope, Fail, type Item, Refused, REPLY_BYTES, To, writeAgain, writeFailure, writeReply,
} from "./documents.ts";
import { type Constructor, Invalid, type Payload, shapeOf, type Shape } from "./payload.ts";
import type { Files } from "./table.ts";
import { type Carrier, describeError, NO_WORDS, Turn } from "./turn.ts";
import { Element } from "./xml.ts";

/** What a function returns: a payload, several, or nothing. */
export type Reply = Item | readonly Item[] | undefined | null | void;
type ErrorClass = abstract new (...args: never[]) => Error;

/** A function that takes one element. */
export interface Handler<T = unknown> {
  readonly shape: Shape;
  readonly answer: (request: T, turn: Turn) => Reply | Promise<Reply>;
  /** Errors after which the same turn is tried again. */
  readonly retry: readonly ErrorClass[];
}

export type Handlers = ReadonlyMap<string, Handler<never>>;
const registered = new Map<string, Handler<never>>();

/** All functions that `listener` has registered. */
export function listHandlers(): Handlers {
  return registered;
}

/** Has a function answer an element. `run()` starts the program. */
export function listener<T extends Payload>(
  of: Constructor<T>,
  answer: (request: T, turn: Turn) => Reply | Promise<Reply>,
  options: { readonly retry?: readonly ErrorClass[] } = {},
): Handler<T> {
  const shape = of?.shape;
  if (!shape || shape.element === undefined) throw new TypeError("listener(PAYLOAD, function): the first is no class of a payload, such as Weather of payloads/hello.ts");
  if (typeof answer !== "function") throw new TypeError(`listener(${shape.name}, function): the second is no function`);
  const key = nameKey(shape.namespace, shape.element);
  if (registered.has(key)) throw new Error(`two functions take <${shape.element}>: keep one function for each element`);
  const handler: Handler<T> = { shape, answer, retry: options.retry ?? [] };
  registered.set(key, handler);
  return handler;
}

export function nameKey(namespace: string, element: string): string {
  return `${namespace} ${element}`;
}

/** Work on one delivery. */
export interface Job {
  readonly delivery: string;
  readonly envelope: Envelope;
  /** Whether the answer is no longer wanted. */
  readonly isCancelled: boolean;
  /** The `<reply>`, whatever happens. */
  readonly reply: Promise<string>;
  cancel(): void;
}

/** Begins to work on a delivery. `most` is the most bytes of a reply. */
export function startJob(handlers: Handlers, envelope: Envelope, carrier: Carrier, most: () => number = () => REPLY_BYTES): Job {
  const controller = new AbortController();
  const reply = answerDelivery(handlers, envelope, carrier, controller.signal).then((document) => {
    const bytes = Buffer.byteLength(document);
    if (bytes <= Math.min(most(), REPLY_BYTES)) return document;
    const words = `the reply has ${bytes} bytes, and ${Math.min(most(), REPLY_BYTES)} are the most: store the data with turn.putBlob and return its hash`;
    return writeFailure(envelope.delivery, new Fail("reply.too-large", words));
  });
  return {
    delivery: envelope.delivery,
    envelope,
    reply,
    get isCancelled() { return controller.signal.aborted; },
    cancel: () => controller.abort(),
  };
}

async function answerDelivery(handlers: Handlers, envelope: Envelope, carrier: Carrier, signal: AbortSignal): Promise<string> {
  const delivery = envelope.delivery;
  let taken: Handler<never> | undefined;
  try {
    const turn = new Turn(envelope, carrier, signal);
    const isLater = turn.number > 1 && envelope.payload.is(CORE, "answers");
    const element = isLater ? await turn.readRequest() : envelope.payload;
    const handler = handlers.get(nameKey(element.namespace, element.name)) ?? failUnknown(element, handlers);
    const request = handler.shape.read(element) as never;
    taken = handler;
    const said = await handler.answer(request, turn);
    const files: Files = [];
    const document = writeReply(delivery, listItems(said), files);
    await turn.storeFiles(files);
    return document;
  } catch (error) {
    try {
      return writeError(delivery, error, taken);
    } catch {
      return writeFailure(delivery, new Fail("listener.error", NO_WORDS)); // A program that ends takes its neighbours with it.
    }
  }
}

function failUnknown(element: Element, handlers: Handlers): never {
  if (element.is(CORE, "answers")) throw new Fail("listener.no-request", "answers came without a request");
  const taken = [...handlers.values()].map((one) => `<${one.shape.element}>`).join(", ");
  throw new Fail("listener.unknown-element", `<${element.name}> of ${element.namespace} is not taken; taken: ${taken}`);
}

function listItems(said: Reply): readonly Item[] {
  const items: readonly unknown[] = said === undefined || said === null ? [] : Array.isArray(said) ? said : [said];
  for (const item of items) {
    const payload = item instanceof To ? item.payload : item;
    if (payload instanceof Element || shapeOf(payload)?.element !== undefined) continue;
    throw new TypeError(`the function returned ${describeValue(payload)}, which is no payload: make it with the constructor of its class`);
  }
  return items as readonly Item[];
}

function describeValue(value: unknown): string {
  if (typeof value !== "object" || value === null) return `${typeof value} ${String(value).slice(0, 40)}`;
  return shapeOf(value) ? `the part ${shapeOf(value)?.name}` : `an object with ${Object.keys(value).slice(0, 5).join(", ") || "no fields"}`;
}

/** The reply after an error: the program lives. */
function writeError(delivery: string, error: unknown, handler: Handler<never> | undefined): string {
  const retry = handler?.retry.some((one) => error instanceof one) ?? false;
  if (error instanceof Again) return writeAgain(delivery, error);
  if (error instanceof Fail) {
    if (error.cause !== undefined) console.error(error.cause);
    return writeFailure(delivery, error);
  }
  if (error instanceof Cancelled) return writeFailure(delivery, new Fail("listener.cancelled", error.message));
  if (error instanceof Invalid && !handler) return writeFailure(delivery, new Fail("sdk.schema", error.message));
  if (error instanceof Refused) return writeFailure(delivery, new Fail(error.code, error.words, { retry }));
  console.error(error);
  return writeFailure(delivery, new Fail("listener.error", describeError(error), { retry }));
}
