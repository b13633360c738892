// Values of simple types: reading them from text, writing them, and the facets that a schema sets. A check never
// refuses what the schema's own judge admits. It admits more in a few places: bounds of dates, times and durations,
// patterns that JavaScript cannot check alike, and the spelling of types that are text here.
import { findForbidden, NAME_PATTERN, NCNAME_PATTERN, NMTOKEN_PATTERN } from "./xml.ts";

/** A row of the table of a module. */
export interface SimpleRow {
  readonly base?: string;
  readonly space?: string;
  readonly wide?: number;
  readonly values?: readonly string[];
  readonly patterns?: readonly (readonly string[])[];
  readonly length?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly totalDigits?: number;
  readonly fractionDigits?: number;
  readonly min?: readonly (string | number)[];
  readonly max?: readonly (string | number)[];
  readonly list?: number;
  readonly union?: readonly number[];
}

declare const form: unique symbol;
/** Text of one form, such as a date. It is kept as it is written. */
type FormedText<F extends string> = string & { readonly [form]: F };
/** A decimal number, as `12.50`. */
export type DecimalText = FormedText<"decimal">;
/** A day, as `2026-01-31`. */
export type DateText = FormedText<"date">;
/** A time of day, as `12:00:00Z`. */
export type TimeText = FormedText<"time">;
/** A moment, as `2026-01-31T12:00:00Z`. */
export type DateTimeText = FormedText<"dateTime">;
/** A stretch of time, as `PT30S`. */
export type DurationText = FormedText<"duration">;

export const DecimalText = (text: string | number | bigint): DecimalText => shape("decimal", String(text)) as DecimalText;
export const DateText = (text: string): DateText => shape("date", text) as DateText;
export const TimeText = (text: string): TimeText => shape("time", text) as TimeText;
export const DateTimeText = (text: string | Date): DateTimeText =>
  shape("dateTime", typeof text === "string" ? text : text.toISOString()) as DateTimeText;
export const DurationText = (text: string): DurationText => shape("duration", text) as DurationText;

/** The most digits of a number that the judge takes. */
const DIGITS = 24;
const DECIMAL = "[+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)";
const ZONE = "(?:Z|[+-]\\d\\d:\\d\\d)?";
const DAY = "-?\\d{4,}-\\d\\d-\\d\\d";
const CLOCK = "\\d\\d:\\d\\d:\\d\\d(?:\\.\\d*)?";
/** How values of a base are spelt. */
const FORMS: { readonly [base: string]: RegExp } = {
  integer: /^[+-]?[0-9]+$/,
  decimal: new RegExp(`^${DECIMAL}$`),
  double: new RegExp(`^(?:${DECIMAL}(?:[eE][+-]?[0-9]*)?|-?INF|NaN)$`),
  boolean: /^(?:true|false|1|0)$/,
  hexBinary: /^(?:[0-9a-fA-F]{2})*$/,
  date: new RegExp(`^${DAY}${ZONE}$`),
  time: new RegExp(`^${CLOCK}${ZONE}$`),
  dateTime: new RegExp(`^${DAY}T${CLOCK}${ZONE}$`),
  duration: /^-?P[0-9YMDTHS.]+$/,
  NMTOKEN: NMTOKEN_PATTERN,
  Name: NAME_PATTERN,
  NCName: NCNAME_PATTERN,
  language: /^[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*$/,
};
const EXAMPLES: { readonly [base: string]: string } = {
  decimal: "12.50", date: "2026-01-31", time: "12:00:00Z", dateTime: "2026-01-31T12:00:00Z", duration: "PT30S",
};

/** The smallest and the largest value of the whole numbers. */
const WHOLE: { readonly [base: string]: readonly [bigint | undefined, bigint | undefined] } = {
  integer: [undefined, undefined],
  nonNegativeInteger: [0n, undefined],
  positiveInteger: [1n, undefined],
  nonPositiveInteger: [undefined, 0n],
  negativeInteger: [undefined, -1n],
  ...Object.fromEntries(
    Object.entries({ Byte: 8n, Short: 16n, Int: 32n, Long: 64n }).flatMap(([name, bits]) => [
      [name.toLowerCase(), [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n]],
      [`unsigned${name}`, [0n, (1n << bits) - 1n]],
    ]),
  ),
};

type Family = "text" | "boolean" | "whole" | "decimal" | "double" | "bytes" | "moment" | "list" | "union";

function findFamily(row: SimpleRow): Family {
  if (row.list !== undefined) return "list";
  if (row.union) return "union";
  const base = row.base ?? "string";
  if (Object.hasOwn(WHOLE, base)) return "whole";
  switch (base) {
    case "boolean": return "boolean";
    case "decimal": return "decimal";
    case "double": case "float": return "double";
    case "hexBinary": case "base64Binary": return "bytes";
    case "date": case "time": case "dateTime": case "duration": return "moment";
    default: return "text";
  }
}

/** Why a value does not fit its type. */
export class ValueError extends Error {
  override name = "ValueError";
}

function shape(base: string, text: string): string {
  if (!FORMS[base]?.test(text)) throw new ValueError(`${show(text)} is no ${base}, such as ${EXAMPLES[base]}`);
  return text;
}

function show(value: unknown): string {
  const text = typeof value === "string" || typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? String(value));
  return text === "" ? "an empty text" : text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/** A decimal without sign, leading zeros and trailing zeros: its digits before and after the point. */
function splitDecimal(text: string): { negative: boolean; whole: string; fraction: string } {
  const [whole = "", fraction = ""] = text.replace(/^[+-]/, "").split(".");
  return { negative: text.startsWith("-"), whole: whole.replace(/^0+/, ""), fraction: fraction.replace(/0+$/, "") };
}

function compareDecimals(left: string, right: string): number {
  const scale = Math.max(...[left, right].map((one) => splitDecimal(one).fraction.length));
  const [a = 0n, b = 0n] = [left, right].map((one) => {
    const { negative, whole, fraction } = splitDecimal(one);
    const value = BigInt(whole + fraction.padEnd(scale, "0"));
    return negative ? -value : value;
  });
  return a < b ? -1 : a > b ? 1 : 0;
}

const parseDouble = (text: string): number => (text.endsWith("INF") ? Number(text.replace("INF", "Infinity")) : Number(text.replace(/[eE][+-]?$/, "")));

/** One simple type of a module. */
export class Simple {
  readonly row: SimpleRow;
  readonly family: Family;
  readonly base: string;
  readonly space: string;
  /** Only its characters have to be checked. */
  readonly isPlain: boolean;
  readonly #all: readonly Simple[];
  readonly #patterns: readonly (readonly RegExp[])[];

  constructor(row: SimpleRow, all: readonly Simple[]) {
    this.row = row;
    this.#all = all;
    this.family = findFamily(row);
    this.base = row.base ?? "string";
    this.space = row.space ?? ({ string: "preserve", normalizedString: "replace" }[this.base] ?? "collapse");
    this.#patterns = (row.patterns ?? []).map((step) => step.map((one) => new RegExp(`^(?:${one})$`, "u")));
    const others = Object.keys(row).filter((key) => key !== "base" && key !== "space");
    this.isPlain = this.family === "text" && others.length === 0 && !FORMS[this.base];
  }

  /** The text with its white space as the type says. */
  normalize(text: string): string {
    if (this.space === "preserve" || !/[\t\n\r ]/.test(text)) return text;
    if (this.space === "replace") return text.replace(/[\t\n\r]/g, " ");
    return text.replace(/[\t\n\r ]+/g, " ").replace(/^ | $/g, "");
  }

  get #item(): Simple {
    return this.#all[this.row.list ?? -1] as Simple;
  }

  get #members(): Simple[] {
    return (this.row.union ?? []).map((at) => this.#all[at] as Simple);
  }

  /** The value that a text means; an error if it means none. */
  read(text: string): unknown {
    if (this.family === "union") return this.#readMember(text);
    const value = this.normalize(text);
    if (this.family === "list") return Object.freeze(value.split(" ").filter(Boolean).map((word) => this.#item.read(word)));
    if (this.family === "text") return value;
    const base = this.family === "whole" ? "integer" : this.base === "float" ? "double" : this.base;
    if (FORMS[base]?.test(value) === false) throw new ValueError(`${show(value)} is no ${this.base}`);
    switch (this.family) {
      case "boolean": return value === "true" || value === "1";
      case "whole": return this.#readWhole(value);
      case "double": return parseDouble(value);
      case "bytes": return Uint8Array.from(this.base === "hexBinary" ? Buffer.from(value, "hex") : Buffer.from(value.replace(/[^A-Za-z0-9+/=]/g, ""), "base64"));
      default: return value;
    }
  }

  #readWhole(text: string): number | bigint {
    if (text.length > 4000) throw new ValueError(`${show(text)} has more than ${DIGITS} digits`);
    const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
    return this.row.wide === undefined && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }

  #readMember(text: string): unknown {
    let words = `${show(text)} is of no type of the union`;
    for (const member of this.#members) {
      try {
        const value = member.read(text);
        const wrong = member.check(value);
        if (wrong === undefined) return value;
        words = wrong;
      } catch (error) {
        if (!(error instanceof ValueError)) throw error;
        words = error.message;
      }
    }
    throw new ValueError(words);
  }

  /** The text of a value that was checked. */
  write(value: unknown): string {
    switch (this.family) {
      case "list": return (value as readonly unknown[]).map((one) => this.#item.write(one)).join(" ");
      case "union": return (this.#members.find((one) => one.check(value) === undefined) ?? (this.#members[0] as Simple)).write(value);
      case "double": return Object.is(value, -0) ? "-0" : String(value).replace("Infinity", "INF");
      case "bytes": {
        const bytes = Buffer.from(value as Uint8Array);
        return this.base === "hexBinary" ? bytes.toString("hex").toUpperCase() : bytes.toString("base64");
      }
      default: return String(value);
    }
  }

  /** What is wrong with a value, in words, or nothing. */
  check(value: unknown): string | undefined {
    switch (this.family) {
      case "union": {
        const wrong = this.#members.map((one) => one.check(value));
        return wrong.includes(undefined) ? undefined : wrong.at(-1);
      }
      case "list": {
        if (!Array.isArray(value)) return `${show(value)} is no list`;
        const wrong = value.map((one) => this.#item.check(one)).find((words) => words !== undefined);
        return wrong ?? this.#checkFacets(value, this.write(value));
      }
      case "text": case "moment": case "decimal": {
        if (typeof value !== "string") return `${show(value)} is no text`;
        const text = this.normalize(value);
        if (this.family === "decimal") return this.#checkForm(text) ?? this.#checkNumber(text) ?? this.#checkFacets(value, text);
        return findForbidden(value) ?? (this.isPlain ? undefined : (this.#checkForm(text) ?? this.#checkFacets(value, text)));
      }
      case "whole":
        if (typeof value === "bigint" || Number.isSafeInteger(value)) {
          return this.#checkNumber(String(value)) ?? this.#checkFacets(value, String(value));
        }
        return `${show(value)} is no whole number${typeof value === "number" && Number.isInteger(value) ? " that is exact: give a bigint" : ""}`;
      case "double":
        if (typeof value !== "number") return `${show(value)} is no number`;
        return this.#checkRange(value) ?? this.#checkFacets(value, this.write(value));
      case "boolean": return typeof value === "boolean" ? this.#checkFacets(value, String(value)) : `${show(value)} is neither true nor false`;
      case "bytes": return value instanceof Uint8Array ? this.#checkFacets(value, this.write(value)) : `${show(value)} is no Uint8Array`;
    }
  }

  #checkForm(text: string): string | undefined {
    return FORMS[this.base]?.test(text) === false ? `${show(text)} is no ${this.base}` : undefined;
  }

  #checkNumber(text: string): string | undefined {
    const { whole, fraction } = splitDecimal(text);
    const most = Math.min(this.row.totalDigits ?? DIGITS, DIGITS);
    if (whole.length + fraction.length > most) return `${show(text)} has more than ${most} digits`;
    if (fraction.length > (this.row.fractionDigits ?? DIGITS)) {
      return `${show(text)} has more than ${this.row.fractionDigits} digits after the point`;
    }
    const [least, last] = WHOLE[this.base] ?? [];
    if (least !== undefined && compareDecimals(text, String(least)) < 0) return `${show(text)} is less than ${least}`;
    if (last !== undefined && compareDecimals(text, String(last)) > 0) return `${show(text)} is more than ${last}`;
    return this.#checkRange(text);
  }

  #checkRange(value: string | number): string | undefined {
    if (value !== value) return undefined; // NaN: the judge has an order of its own.
    const compare = (bound: string): number =>
      typeof value === "string" ? compareDecimals(value, bound) : value - parseDouble(bound) || 0;
    const { min: [min, fromMin] = [], max: [max, toMax] = [] } = this.row;
    if (min !== undefined) {
      const order = compare(String(min));
      if (order < 0 || (order === 0 && !fromMin)) return `${show(value)} is ${fromMin ? "less than" : "not more than"} ${min}`;
    }
    if (max !== undefined) {
      const order = compare(String(max));
      if (order > 0 || (order === 0 && !toMax)) return `${show(value)} is ${toMax ? "more than" : "not less than"} ${max}`;
    }
    return undefined;
  }

  #checkFacets(value: unknown, text: string): string | undefined {
    const { values, length, minLength = 0, maxLength = Infinity } = this.row;
    if (values && this.family !== "moment" && !this.#isListed(value, text, values)) {
      return `${show(value)} is none of ${values.join(", ")}`;
    }
    if (!values && (this.family === "list" || this.family === "bytes" || this.family === "text")) {
      const size = this.family === "text" ? [...text].length : (value as { length: number }).length;
      const unit = { list: "values", bytes: "bytes", text: "characters" }[this.family];
      if (size < (length ?? minLength)) return `${show(value)} has ${size} ${unit}, fewer than ${length ?? minLength}`;
      if (size > (length ?? maxLength)) return `${show(value)} has ${size} ${unit}, more than ${length ?? maxLength}`;
    }
    if (this.family === "text" || this.family === "moment") {
      const missed = this.#patterns.find((step) => !step.some((one) => one.test(text)));
      if (missed) return `${show(value)} does not match ${missed.map((one) => one.source.slice(4, -2)).join(" | ")}`;
    }
    return undefined;
  }

  #isListed(value: unknown, text: string, values: readonly string[]): boolean {
    if (this.family === "text" || this.family === "list") return values.some((one) => text === one || text === this.normalize(one));
    if (this.family === "whole" || this.family === "decimal") return values.some((one) => compareDecimals(text, one) === 0);
    if (this.family === "bytes") return values.some((one) => this.write(this.read(one)) === text);
    return values.some((one) => Object.is(this.read(one), value) || this.read(one) === value);
  }
}
