// Starts the program: over stdin, as the organism starts it, or over NATS if SYSTOLE_NATS names a broker.
import { checkProtocol, type Refused } from "./documents.ts";
import { listHandlers } from "./listener.ts";
import { serveStdin, takeStdout } from "./stdio.ts";

/** How a program runs. */
export interface RunOptions {
  /** How many deliveries it works on at once: `SYSTOLE_SLOTS`, and over stdin as many as come. */
  readonly concurrency?: number;
  /** Over NATS: seconds to finish after TERM. */
  readonly grace?: number;
  /** Gets replies and items that the organism refused; else stderr does. */
  readonly onRefused?: (refused: Refused) => void;
}

let isRunning = false;

/** Answers deliveries until the organism ends, and ends the program. */
export function run(options: RunOptions = {}): void {
  if (isRunning) throw new Error("run() is called twice: call it once, at the end of the program");
  isRunning = true;
  void serve(options).then(
    (code) => process.exit(code),
    (error: unknown) => {
      console.error("systole-sdk:", error);
      process.exit(1);
    },
  );
}

async function serve(options: RunOptions): Promise<number> {
  const env = process.env;
  const wrong = checkProtocol(env["SYSTOLE_PROTOCOL"]) ?? findWrong(options);
  if (wrong !== undefined) {
    console.error(wrong);
    return 2;
  }
  const slots = options.concurrency ?? (env["SYSTOLE_SLOTS"] ? Number(env["SYSTOLE_SLOTS"]) : undefined);
  if (!env["SYSTOLE_NATS"]) return serveStdin(listHandlers(), options.concurrency ?? Infinity, takeStdout());
  const { serveNats } = await import("./nats.ts");
  return serveNats(listHandlers(), { ...options, concurrency: slots ?? 1 });
}

/** Why the program cannot start, with the fix. */
function findWrong(options: RunOptions): string | undefined {
  const env = process.env;
  if (listHandlers().size === 0) return "this program takes nothing: call listener(PAYLOAD, function) before run()";
  for (const [name, value] of [["concurrency", options.concurrency], ["SYSTOLE_SLOTS", env["SYSTOLE_SLOTS"]]] as const) {
    const isCount = value === undefined || (Number.isInteger(Number(value)) && Number(value) >= 1 && Number(value) <= 512);
    if (!isCount) return `${name} is ${value}, and has to be a whole number from 1 to 512`;
  }
  if (env["SYSTOLE_NATS"]) return undefined;
  if (env["SYSTOLE_MODE"] === "once") {
    return "this program stays, and its listener has `mode: once`: remove `mode: once` from organism.yaml";
  }
  if (process.stdin.isTTY) {
    return "this program is a listener, and an organism starts it: put `run:` with its command into organism.yaml, then `systole listener try NAME`";
  }
  return undefined;
}
