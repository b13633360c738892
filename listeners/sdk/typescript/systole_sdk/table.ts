// The table of a module, which has its classes, and what is said of a payload that does not fit.
import type { File } from "./file.ts";
import type { SimpleRow } from "./values.ts";

export interface TypeRow {
  readonly simple?: number; readonly class?: string; readonly module?: string; readonly items?: FieldRow;
  readonly markup?: number; readonly string?: number; readonly file?: number;
}
export interface FieldRow {
  readonly name: string; readonly ns?: string; readonly field?: string; readonly type: TypeRow; readonly required?: number;
  readonly min?: number; readonly max?: number; readonly default?: string; readonly sensitive?: number;
}
export interface ClassRow {
  readonly element?: string; readonly attributes?: readonly FieldRow[]; readonly children?: readonly FieldRow[];
  readonly text?: Partial<FieldRow>;
  readonly listed?: { readonly field: string; readonly of: readonly (FieldRow | { readonly type: TypeRow })[]; readonly min?: number; readonly max?: number };
  readonly any?: { readonly field: string; readonly at?: number; readonly many?: number; readonly min?: number; readonly other?: string };
}
/** The table of a module. */
export interface Table {
  readonly namespace: string; readonly elements: { readonly [element: string]: string };
  readonly classes: { readonly [name: string]: ClassRow }; readonly simple?: readonly SimpleRow[];
}

/** Why a payload is none: the path of the part, and what is wrong with it. */
export class Invalid extends Error {
  override name = "Invalid";
  readonly path: string;

  constructor(path: string, words: string) {
    super(`${path}: ${words}`);
    this.path = path;
  }
}

/** What a writer collects: files whose bytes have to be stored. */
export type Files = File[];
export type Fields = { readonly [field: string]: unknown };

export function fail(path: string, words: string): never {
  throw new Invalid(path, words);
}

const said = new Set<string>();

/** Says once that a part is skipped, because an open call keeps its older schema. */
export function tellSkipped(words: string): void {
  if (said.has(words) || said.size > 1000) return;
  said.add(words);
  console.error(`systole-sdk: ${words} is unknown and skipped; \`systole sdk typescript\` writes the payloads again`);
}
