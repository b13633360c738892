// Writes the client's methods and the types of their bodies from `schemas/openapi.json`.
//
//     node make_client.ts          writes systole_sdk/operations.ts and systole_sdk/bodies.ts
//     node make_client.ts --check  exits 1 if they are not what it would write
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { argv, exit } from "node:process";

interface Schema {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly items?: Schema;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
}
interface Content { readonly [kind: string]: { readonly schema: Schema } }
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: { readonly [status: string]: { readonly content?: Content } };
}
interface Described {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } };
  readonly components: { readonly schemas: { readonly [name: string]: Schema } };
}

/** Operations that are no method, each with its reason. */
const LEFT_OUT: { readonly [operation: string]: string } = {
  sendMessage: "`ask`, `send` and `wait` send messages",
  sendFile: "`ask` and `send` send the files of their payloads",
  followLog: "`events` follows the log",
  decide: "`approve`, `reject`, `amend` and `choose` decide, with the hash that was read",
  mcp: "it is for hosts of models, which speak the Model Context Protocol",
  sessionCode: "it is for signing in to the console in a browser",
};
const OPENAPI = new URL("../../../schemas/openapi.json", import.meta.url);
const HEAD = "// Written by `make_client.ts` from `schemas/openapi.json`: do not edit, write it again.\n";

const describeName = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name));

/** A type of TypeScript. `home` stands before the name of a body. */
function writeType(schema: Schema, home = "", indent = ""): string {
  if (schema.$ref !== undefined) return home + schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
  const every = schema.anyOf ?? schema.oneOf;
  if (every) return [...new Set(every.map((one) => writeType(one, home, indent)))].join(" | ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.properties) return `{\n${writeFields(schema, home, `${indent}  `)}${indent}}`;
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? ["object"]);
  return types.map((one) => writeBasic(one, schema, home, indent)).join(" | ");
}

function writeBasic(type: string, schema: Schema, home: string, indent: string): string {
  if (type === "array") {
    const item = writeType(schema.items ?? {}, home, indent);
    return `readonly ${/[ {]/.test(item) ? `(${item})` : item}[]`;
  }
  if (type === "object") {
    const more = schema.additionalProperties;
    const value = typeof more === "object" && Object.keys(more).length > 0 ? writeType(more, home, indent) : "unknown";
    return `{ readonly [name: string]: ${value} }`;
  }
  return { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null" }[type] ?? "unknown";
}

function writeFields(schema: Schema, home: string, indent: string): string {
  return Object.entries(schema.properties ?? {})
    .map(([name, one]) => `${indent}readonly ${describeName(name)}${schema.required?.includes(name) ? "" : "?"}: ${writeType(one, home, indent)};\n`)
    .join("");
}

function writeBodies(schemas: { readonly [name: string]: Schema }): string {
  const types = Object.entries(schemas).map(([name, schema]) =>
    schema.properties ? `export interface ${name} {\n${writeFields(schema, "", "  ")}}\n` : `export type ${name} = ${writeType(schema)};\n`,
  );
  return `${HEAD}/** The bodies of the HTTP door. */\n${types.join("\n")}`;
}

/** The type of a method's result. */
function findResult(operation: Operation): string {
  const found = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
  const schemas = found.flatMap(([, response]) => Object.values(response.content ?? {}).map((one) => one.schema));
  const types = schemas.map((one) => (one.format === "binary" ? "Uint8Array" : writeType(one, "bodies.")));
  return [...new Set(types)].join(" | ") || "undefined";
}

function writeMethod(path: string, method: string, operation: Operation): string {
  const given = operation.parameters ?? [];
  const words = given.filter((one) => one.in === "path").map((one) => `${one.name}: string`);
  const body = operation.requestBody?.content["application/json"]?.schema;
  if (body) words.push(`body${operation.requestBody?.required ? "" : "?"}: ${writeType(body, "bodies.")}`);
  const query = given.filter((one) => one.in === "query");
  const fields = query.map((one) => `readonly ${describeName(one.name)}?: ${writeType(one.schema, "bodies.")} | undefined`);
  if (query.length > 0) words.push(`query: { ${fields.join("; ")} } = {}`);
  const result = findResult(operation);
  const asked = [JSON.stringify(method), `\`${path.replace(/\{(\w+)\}/g, "${place($1)}")}\``, query.length > 0 ? "query" : "{}"];
  if (body) asked.push("body");
  const call = `return (await this.${result === "Uint8Array" ? "bytes" : "call"}(${asked.join(", ")})) as ${result};`;
  return `  /** ${operation.summary.replace(/\.$/, "")}. */\n  async ${operation.operationId}(${words.join(", ")}): Promise<${result}> {\n    ${call}\n  }\n`;
}

function writeOperations(paths: Described["paths"]): string {
  const methods = Object.entries(paths).flatMap(([path, all]) =>
    Object.entries(all)
      .filter(([, one]) => LEFT_OUT[one.operationId] === undefined)
      .map(([method, one]) => writeMethod(path, method.toUpperCase(), one)),
  );
  const reasons = Object.entries(LEFT_OUT).map(([name, reason]) => `//   ${name}: ${reason}.\n`).join("");
  return `${HEAD}import type * as bodies from "./bodies.ts";

/** What is asked beside the path. */
export interface Query { readonly [name: string]: string | number | boolean | null | undefined }

const place = (text: string): string => encodeURIComponent(text);

// Operations that are no method:
${reasons}
/** One method for each operation of the HTTP door. */
export abstract class Operations {
  protected abstract call(method: string, path: string, query: Query, body?: unknown): Promise<unknown>;
  protected abstract bytes(method: string, path: string, query: Query): Promise<Uint8Array>;

${methods.join("\n")}}
`;
}

const described = JSON.parse(readFileSync(OPENAPI, "utf8")) as Described;
const written = { "bodies.ts": writeBodies(described.components.schemas), "operations.ts": writeOperations(described.paths) };
const stale = Object.entries(written).filter(([name, text]) => {
  const file = new URL(`systole_sdk/${name}`, import.meta.url);
  return !existsSync(file) || readFileSync(file, "utf8") !== text;
});
if (argv.includes("--check")) {
  if (stale.length > 0) console.error(`stale: ${stale.map(([name]) => name).join(", ")}; try: node make_client.ts`);
  exit(stale.length > 0 ? 1 : 0);
}
for (const [name, text] of stale) writeFileSync(new URL(`systole_sdk/${name}`, import.meta.url), text);
