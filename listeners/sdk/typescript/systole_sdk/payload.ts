// Typed payloads: the classes of a module, made from its table. A constructor checks what it is given, a reader takes an
// element, and a writer gives one. Unknown parts are skipped, because an open call keeps its older schema.
import { Field, MODULES } from "./field.ts";
import { File } from "./file.ts";
import { type ClassRow, fail, type FieldRow, type Fields, type Files, Invalid, type Table, tellSkipped } from "./table.ts";
import { Simple } from "./values.ts";
import { Element, escapeAttribute, escapeText, parseXml, writeElement, writeTag, XmlError } from "./xml.ts";

export { File } from "./file.ts";
export { Invalid, type Table } from "./table.ts";
export { Element } from "./xml.ts";
export { DateText, DateTimeText, DecimalText, DurationText, TimeText } from "./values.ts";

/** The name of a payload's element with its namespace, or of the class of a part. */
export const kind: unique symbol = Symbol("kind");
/** An element inside a payload. */
export interface Part<N extends string = string> { readonly [kind]?: N }
/** A payload: its name is its namespace, a blank, and its element. */
export interface Payload<N extends string = string> extends Part<N> { readonly [kind]: N }
/** What a constructor takes. */
export type Given<T> = Omit<T, typeof kind>;

/** Makes payloads of one class, and reads them. */
export interface Constructor<T> {
  (given: Given<T>): T;
  readonly shape: Shape;
  /** Reads one from an element or a document. */
  read(from: Element | string): T;
  /** Whether a value is one of these. */
  is(value: unknown): value is T;
}

const XSI = "http://www.w3.org/2001/XMLSchema-instance";
const SHAPE: unique symbol = Symbol("shape");
/** One class of a module. */
export class Shape {
  readonly name: string;
  readonly namespace: string;
  readonly element: string | undefined;
  readonly #row: ClassRow;
  readonly #attributes: readonly Field[];
  readonly #text: Field | undefined;
  readonly #children: readonly Field[];
  readonly #listed: readonly Field[];
  readonly #takesAny: boolean;
  readonly #fields: ReadonlySet<string>;
  readonly #prototype: object;

  constructor(name: string, row: ClassRow, module: Module) {
    this.name = name;
    this.namespace = module.namespace;
    this.element = row.element;
    this.#row = row;
    const all = (rows: readonly FieldRow[] = []): Field[] => rows.map((one) => new Field(one, module));
    this.#attributes = all(row.attributes);
    this.#text = row.text && new Field(row.text, module);
    this.#children = all(row.children);
    const of = row.listed?.of ?? [];
    this.#listed = all(of.filter((one): one is FieldRow => "name" in one));
    this.#takesAny = this.#listed.length < of.length;
    const named = [...this.#attributes, ...this.#children, ...(this.#text ? [this.#text] : [])];
    const extra = [row.listed?.field, row.any?.field].filter((one) => one !== undefined);
    this.#fields = new Set([...named.map((one) => one.field), ...extra]);
    const hidden = new Set(named.filter((one) => one.row.sensitive).map((one) => one.field));
    this.#prototype = Object.create(null, {
      [SHAPE]: { value: this },
      [kind]: { value: row.element === undefined ? name : `${module.namespace} ${row.element}` },
      toString: { value(this: Fields) { return name; } },
      [Symbol.for("nodejs.util.inspect.custom")]: {
        value(this: Fields, _depth: number, options: object, inspect: (value: unknown, options: object) => string): string {
          const shown = Object.entries(this).map(([field, value]) => [field, hidden.has(field) ? "(sensitive)" : value]);
          return `${name} ${inspect(Object.fromEntries(shown), options)}`;
        },
      },
    });
  }

  /** The path of a payload of this class. */
  get path(): string {
    return `/${this.element ?? this.name}`;
  }

  isOf(value: unknown): value is Fields {
    return shapeOf(value) === this;
  }

  #seal(fields: { [field: string]: unknown }): Fields {
    return Object.freeze(Object.assign(Object.create(this.#prototype), fields)) as Fields;
  }

  /** Checks fields, and makes one of them. */
  take(given: unknown, path: string): Fields {
    if (this.isOf(given)) return given;
    if (typeof given !== "object" || given === null || shapeOf(given) || Array.isArray(given)) fail(path, `is no ${this.name}`);
    const from = given as Fields;
    const unknown = Object.keys(from).find((field) => !this.#fields.has(field));
    if (unknown !== undefined) fail(path, `there is no field "${unknown}" in ${this.name}`);
    const out: { [field: string]: unknown } = {};
    for (const one of this.#attributes) {
      const value = from[one.field];
      if (value !== undefined) out[one.field] = one.take(value, `${path}/@${one.name}`);
      else if (one.row.required) fail(`${path}/@${one.name}`, "is missing");
    }
    if (this.#text) {
      const own = from[this.#text.field];
      out[this.#text.field] = own === undefined ? fail(path, `has no ${this.#text.field}`) : this.#text.take(own, path);
    }
    for (const one of this.#children) {
      const [value, at] = [from[one.field], `${path}/${one.name}`];
      if (one.max !== 1) out[one.field] = one.takeAll(value ?? [], at);
      else if (value !== undefined) out[one.field] = one.take(value, at);
      else if (one.min > 0) fail(at, "is missing");
    }
    this.#takeOrdered(from, path, out);
    return this.#seal(out);
  }

  #takeOrdered(from: Fields, path: string, out: { [field: string]: unknown }): void {
    const { listed, any } = this.#row;
    if (listed) {
      const items = from[listed.field] ?? [];
      if (!Array.isArray(items)) fail(`${path}/${listed.field}`, "is no list");
      out[listed.field] = this.#count(items.map((item, at) => this.#takeItem(item, `${path}/${listed.field}[${at + 1}]`)), listed, path);
    }
    if (!any) return;
    const value = from[any.field];
    const values: readonly unknown[] = any.many ? ((value ?? []) as readonly unknown[]) : value === undefined ? [] : [value];
    if (!Array.isArray(values) || !values.every((one) => one instanceof Element)) fail(`${path}/${any.field}`, "is no Element");
    const wrong = (values as Element[]).find((one) => !this.#takes(one));
    if (wrong) fail(`${path}/${any.field}`, `<${wrong.name}> has to be of another namespace`);
    this.#keepAny(values as Element[], path, out);
  }

  /** Whether `any` takes elements of that namespace. */
  #takes(element: Element): boolean {
    const other = this.#row.any?.other;
    return other === undefined || !["", other].includes(element.namespace);
  }

  #takeItem(item: unknown, path: string): unknown {
    if (item instanceof Element && this.#takesAny) return item;
    const shape = shapeOf(item);
    if (shape && this.#listed.some((one) => one.shape === shape)) return item;
    const names = this.#listed.map((one) => one.shape?.name).join(", ");
    return fail(path, `is none of ${names}: make it with a constructor`);
  }

  #count(values: readonly unknown[], row: { readonly field: string; readonly min?: number; readonly max?: number }, path: string): readonly unknown[] {
    const [min, max] = [row.min ?? 1, row.max === 0 ? Infinity : (row.max ?? 1)];
    const fits = values.length >= min && values.length <= max;
    if (!fits) fail(`${path}/${row.field}`, `has ${values.length} elements, ${values.length < min ? `fewer than ${min}` : `more than ${max}`}`);
    return Object.freeze(values);
  }

  #keepAny(found: readonly Element[], path: string, out: { [field: string]: unknown }): void {
    const any = this.#row.any;
    if (!any) return;
    this.#count(found, { field: any.field, min: any.min ?? 0, max: any.many ? 0 : 1 }, path);
    if (any.many) out[any.field] = Object.freeze([...found]);
    else if (found[0]) out[any.field] = found[0];
  }

  /** Reads one. */
  read(element: Element, path: string = this.path): Fields {
    const out: { [field: string]: unknown } = {};
    let known = 0;
    for (const one of this.#attributes) {
      const text = element.get(one.name) ?? one.row.default;
      if (element.attributes.has(one.name)) known++;
      if (text !== undefined) out[one.field] = one.readText(text, `${path}/@${one.name}`);
      else if (one.row.required) fail(`${path}/@${one.name}`, "is missing");
    }
    if (known < element.attributes.size && !this.#text?.row.type?.file) this.#tellAttributes(element, path);
    if (this.#text) out[this.#text.field] = this.#text.read(element, path);
    else if (/[^\t\n\r ]/.test(element.text)) tellSkipped(`text in ${path}`);
    const rest = new Set(element.elements);
    for (const one of this.#children) {
      const found = one.readAll([...rest], path, () => {});
      for (const child of rest) if (child.is(one.namespace, one.name)) rest.delete(child);
      if (one.max !== 1) out[one.field] = found;
      else if (found.length > 0) out[one.field] = found[0];
    }
    this.#readOrdered(rest, path, out);
    return this.#seal(out);
  }

  #readOrdered(rest: Set<Element>, path: string, out: { [field: string]: unknown }): void {
    const { listed, any } = this.#row;
    const left: Element[] = [];
    const items: unknown[] = [];
    for (const one of rest) {
      const field = this.#listed.find((field) => one.is(field.namespace, field.name));
      if (field) items.push(field.read(one, `${path}/${one.name}`));
      else if (this.#takesAny) items.push(one);
      else if (any && this.#takes(one) && (any.many || left.length === 0)) left.push(one);
      else tellSkipped(`<${one.name}> in ${path}`);
    }
    if (listed) out[listed.field] = this.#count(items, listed, path);
    this.#keepAny(left, path, out);
  }

  #tellAttributes(element: Element, path: string): void {
    for (const name of element.attributes.keys()) {
      const isKnown = this.#attributes.some((one) => one.name === name) || name.startsWith(`{${XSI}}`);
      if (!isKnown) tellSkipped(`the attribute ${name} of ${path}`);
    }
  }

  /** Writes one as an element of this name. */
  write(value: Fields, namespace: string, name: string, around: string, files: Files): string {
    let attributes = "";
    for (const one of this.#attributes) {
      const own = value[one.field];
      if (own !== undefined) attributes += ` ${one.name}="${escapeAttribute(one.writeText(own))}"`;
    }
    const { listed, any } = this.#row;
    const text = this.#text && value[this.#text.field];
    if (text instanceof File) {
      files.push(text);
      return text.write(namespace, name, around);
    }
    let content = this.#text ? escapeText(this.#text.writeText(text)) : "";
    for (const [at, one] of this.#children.entries()) {
      if (at === (any?.at ?? Infinity)) content += this.#writeAny(value, namespace);
      const own = value[one.field];
      const all = one.max !== 1 ? (own as readonly unknown[]) : own === undefined ? [] : [own];
      for (const each of all) content += one.write(each, namespace, files);
    }
    if ((any?.at ?? Infinity) >= this.#children.length) content += this.#writeAny(value, namespace);
    for (const item of listed ? (value[listed.field] as readonly unknown[]) : []) {
      if (item instanceof Element) content += writeElement(item, namespace);
      else content += this.#listed.find((one) => one.shape?.isOf(item))?.write(item, namespace, files) ?? "";
    }
    return writeTag(namespace, name, around, attributes, content);
  }

  #writeAny(value: Fields, namespace: string): string {
    const any = this.#row.any;
    const own = any && value[any.field];
    if (own === undefined) return "";
    return (Array.isArray(own) ? (own as Element[]) : [own as Element]).map((one) => writeElement(one, namespace)).join("");
  }
}

/** The class of a payload or part; nothing for another value. */
export function shapeOf(value: unknown): Shape | undefined {
  return typeof value === "object" && value !== null && SHAPE in value ? (value[SHAPE] as Shape) : undefined;
}

/** The classes of a namespace. */
export class Module {
  readonly namespace: string;
  readonly simple: readonly Simple[];
  readonly shapes = new Map<string, Shape>();
  readonly elements: { readonly [element: string]: string };

  constructor(table: Table) {
    this.namespace = table.namespace;
    this.elements = table.elements;
    const simple: Simple[] = [];
    for (const row of table.simple ?? []) simple.push(new Simple(row, simple));
    this.simple = simple;
    for (const [name, row] of Object.entries(table.classes)) this.shapes.set(name, new Shape(name, row, this));
  }

  /** The constructor of a payload. */
  payload<T>(name: string): Constructor<T> {
    return this.part<T>(name);
  }

  /** The constructor of a part. */
  part<T>(name: string): Constructor<T> {
    const shape = this.shapes.get(name);
    if (!shape) throw new Error(`there is no class ${name} in ${this.namespace}`);
    const make = (given: Given<T>): T => shape.take(given, shape.path) as T;
    const read = (from: Element | string): T => {
      const element = typeof from === "string" ? parseXml(from) : from;
      if (shape.element !== undefined && !element.is(shape.namespace, shape.element)) {
        throw new Invalid(`/${element.name}`, `is no <${shape.element}> of ${shape.namespace}`);
      }
      return shape.read(element) as T;
    };
    const is = (value: unknown): value is T => shape.isOf(value);
    return Object.assign(make, { shape, read, is });
  }
}

/** Makes the classes of a module from its table. */
export function bind(table: Table): Module {
  const module = new Module(table);
  MODULES.set(table.namespace, module);
  return module;
}

/** A payload of an element: typed if its module is imported, else the element itself. */
export function readPayload(element: Element): Payload | Element {
  const module = MODULES.get(element.namespace);
  const name = module && Object.hasOwn(module.elements, element.name) ? module.elements[element.name] : undefined;
  const shape = name === undefined ? undefined : module?.shapes.get(name);
  return shape ? (shape.read(element) as unknown as Payload) : element;
}

/** Writes a payload as XML. Files whose bytes have to be stored are added to `files`. */
export function writePayload(payload: Payload | Element, files: Files = [], around = ""): string {
  if (payload instanceof Element) return writeElement(payload, around);
  const shape = shapeOf(payload);
  if (!shape || shape.element === undefined) throw new XmlError("this is no payload: make it with the constructor of its class");
  return shape.write(payload as unknown as Fields, shape.namespace, shape.element, around, files);
}
