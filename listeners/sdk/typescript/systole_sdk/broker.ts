// The connection to a NATS broker: what is used of `@nats-io/transport-node`, and how it is opened. No JetStream layer:
// those look streams up, and a listener may not.
import { readFileSync } from "node:fs";

/** A message of the broker. */
export interface BrokerMessage {
  readonly subject: string;
  readonly reply?: string;
  readonly data: Uint8Array;
  readonly headers?: { readonly code: number; readonly description: string; get(name: string): string };
}

/** What is used of a connection. */
export interface Broker {
  readonly info?: { readonly max_payload: number };
  publish(subject: string, data?: Uint8Array | string, options?: { readonly reply?: string }): void;
  subscribe(subject: string, options: { readonly callback: (error: Error | null, message: BrokerMessage) => void }): unknown;
  request(subject: string, data: Uint8Array | string, options: { readonly timeout: number }): Promise<BrokerMessage>;
  status(): AsyncIterable<{ readonly type: string; readonly error?: Error }>;
  flush(): Promise<void>;
  close(): Promise<void>;
  closed(): Promise<void | Error>;
}

/** After so long without a broker the program says that it waits. */
const SILENT_MS = 2_000;

interface BrokerLibrary {
  connect(options: { readonly [name: string]: unknown }): Promise<Broker>;
  nkeyAuthenticator(seed: Uint8Array): unknown;
}

/** What a worker needs to know, as the environment says it. */
export interface BrokerPlace {
  readonly url: string;
  readonly organism: string;
  readonly listener: string;
  readonly keyFile: string | undefined;
}

/** A fault that a person has to fix before the program can start. */
export class StartFault extends Error {
  override name = "StartFault";
}

/** Reads the environment. */
export function readPlace(env: { readonly [name: string]: string | undefined }): BrokerPlace {
  const need = (name: string, what: string): string =>
    env[name] || failStart(`${name} is not set: it has to be ${what}, and belongs beside SYSTOLE_NATS`);
  return {
    url: need("SYSTOLE_NATS", "the address of the broker, as nats://127.0.0.1:4222"),
    organism: need("SYSTOLE_ORGANISM", "the name of the organism"),
    listener: need("SYSTOLE_LISTENER", "the name of the listener in organism.yaml"),
    keyFile: env["SYSTOLE_KEY_FILE"],
  };
}

function failStart(words: string): never {
  throw new StartFault(words);
}

/** A name as subjects have it. */
export function writeToken(name: string): string {
  return name.replaceAll(".", "_");
}

/** The inbox prefix of a listener. */
export function nameInbox(place: BrokerPlace): string {
  return `_INBOX_${writeToken(place.listener)}`;
}

/** Opens the connection, and waits for the broker as long as it takes. */
export async function connectBroker(place: BrokerPlace): Promise<Broker> {
  const library = await importLibrary();
  const seed = place.keyFile === undefined ? undefined : readSeed(place.keyFile);
  const waiting = setTimeout(() => console.error(`systole-sdk: waits for the broker at ${place.url}`), SILENT_MS);
  try {
    return await library.connect({
      servers: place.url,
      name: `systole listener ${place.listener}`,
      inboxPrefix: nameInbox(place),
      maxReconnectAttempts: -1,
      waitOnFirstConnect: true,
      reconnectTimeWait: 500,
      reconnectJitter: 500,
      pingInterval: 10_000,
      timeout: 5_000,
      ignoreAuthErrorAbort: true,
      ...(seed && { authenticator: library.nkeyAuthenticator(seed) }),
    });
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    const fix = /authoriz|permission/i.test(words) ? `: is SYSTOLE_KEY_FILE the key of "${place.listener}" at this broker?` : "";
    return failStart(`the broker at ${place.url} was not reached: ${words}${fix}`);
  } finally {
    clearTimeout(waiting);
  }
}

async function importLibrary(): Promise<BrokerLibrary> {
  const name = "@nats-io/transport-node";
  try {
    return (await import(name)) as BrokerLibrary;
  } catch (error) {
    return failStart(`${name} is missing: npm install ${name} (${error instanceof Error ? error.message : String(error)})`);
  }
}

function readSeed(path: string): Uint8Array {
  let text;
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (error) {
    return failStart(`SYSTOLE_KEY_FILE: the key ${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!/^SU[A-Z2-7]{56}$/.test(text)) failStart(`SYSTOLE_KEY_FILE: ${path} does not hold the seed of an nkey: one line that begins with SU`);
  return new TextEncoder().encode(text);
}
