// Reads payloads with generated classes and writes them again: a line of JSON comes in for each schema, one goes out.
import { createInterface } from "node:readline";
import { inspect } from "node:util";

const sdk = process.argv[2] ?? "";
const { writePayload } = await import(`${sdk}/payload.ts`);
const show = (value: unknown): string => inspect(value, { depth: null, maxArrayLength: null, maxStringLength: null });

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const { Root } = await import(`${process.cwd()}/${asked.module}.ts`);
  const said = asked.documents.map((document: string) => {
    try {
      const payload = Root.read(document);
      const written = writePayload(payload);
      return { written, again: show(Root.read(written)) === show(payload) };
    } catch (error) {
      return { refused: String(error) };
    }
  });
  console.log(JSON.stringify(said));
}
