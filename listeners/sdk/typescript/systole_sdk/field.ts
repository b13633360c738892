// One part of a class: what it is called in XML and in the class, and how it is read, checked and written.
import { File } from "./file.ts";
import type { Module, Shape } from "./payload.ts";
import { fail, type Fields, type FieldRow, type Files, Invalid, tellSkipped } from "./table.ts";
import { type Simple, ValueError } from "./values.ts";
import { Element, escapeText, findForbidden, writeElement, writeTag } from "./xml.ts";

/** The modules that are imported, by namespace. */
export const MODULES = new Map<string, Module>();

/** What is wrong with a sensitive value: its own words would show it. */
const HIDDEN = "the value, which is sensitive, is none that the schema takes";

/** A part of a class. */
export class Field {
  readonly row: Partial<FieldRow>;
  readonly field: string;
  readonly name: string;
  readonly namespace: string;
  readonly min: number;
  readonly max: number;
  readonly #module: Module;
  readonly simple: Simple | undefined;
  readonly item: Field | undefined;

  constructor(row: Partial<FieldRow>, module: Module) {
    this.row = row;
    this.field = row.field ?? "";
    this.name = row.name ?? "";
    this.namespace = row.ns ?? module.namespace;
    this.min = row.min ?? 1;
    this.max = row.max === 0 ? Infinity : (row.max ?? 1);
    this.#module = module;
    const { simple, items } = row.type ?? {};
    if (simple !== undefined) this.simple = module.simple[simple];
    if (items) this.item = new Field(items, module);
  }

  get shape(): Shape | undefined {
    const { class: name, module } = this.row.type ?? {};
    if (name === undefined) return undefined;
    const found = (module === undefined ? this.#module : MODULES.get(module))?.shapes.get(name);
    if (!found) throw new Error(`the class ${name} of ${module ?? this.#module.namespace} is not imported`);
    return found;
  }

  /** Keeps a sensitive value out of the words that say what is wrong with it. */
  #hide<T>(work: () => T): T {
    if (!this.row.sensitive) return work();
    try {
      return work();
    } catch (error) {
      throw error instanceof Invalid ? new Invalid(error.path, HIDDEN) : error;
    }
  }

  readText(text: string, path: string): unknown {
    return this.#hide(() => this.#readText(text, path));
  }

  #readText(text: string, path: string): unknown {
    if (!this.simple) return text;
    try {
      const value = this.simple.read(text);
      const wrong = this.simple.check(value);
      if (wrong !== undefined) throw new ValueError(wrong);
      return value;
    } catch (error) {
      throw error instanceof ValueError ? new Invalid(path, error.message) : error;
    }
  }

  read(element: Element, path: string): unknown {
    return this.#hide(() => this.#read(element, path));
  }

  #read(element: Element, path: string): unknown {
    const shape = this.shape;
    if (shape) return shape.read(element, path);
    if (this.item) return this.item.readAll(element.elements, path, (one) => tellSkipped(`<${one.name}> in ${path}`));
    if (this.row.type?.markup) return element;
    if (this.row.type?.file) return File.fromElement(element) ?? fail(path, "is no reference of a file: sha256, type and bytes");
    const text = element.text;
    return this.readText(text === "" && this.row.default !== undefined ? this.row.default : text, path);
  }

  /** Reads those of the elements that are of this name. */
  readAll(elements: readonly Element[], path: string, skip: (one: Element) => void): readonly unknown[] {
    const found: unknown[] = [];
    for (const one of elements) {
      if (one.is(this.namespace, this.name)) found.push(this.read(one, `${path}/${this.name}`));
      else skip(one);
    }
    return this.checkCount(found, `${path}/${this.name}`);
  }

  checkCount(values: readonly unknown[], path: string): readonly unknown[] {
    if (values.length < this.min) fail(path, values.length === 0 ? "is missing" : `is there ${values.length} times, fewer than ${this.min}`);
    if (values.length > this.max) fail(path, `is there ${values.length} times, more than ${this.max}`);
    return Object.freeze(values);
  }

  /** Checks one value, and gives it in the form that a payload has. */
  take(value: unknown, path: string): unknown {
    return this.#hide(() => this.#take(value, path));
  }

  #take(value: unknown, path: string): unknown {
    const shape = this.shape;
    if (shape) return shape.take(value, path);
    if (this.item) return this.item.takeAll(value, `${path}/${this.item.name}`);
    const { markup, file } = this.row.type ?? {};
    if (markup) return value instanceof Element && value.is(this.namespace, this.name) ? value : fail(path, `is no Element <${this.name}>`);
    if (file) return value instanceof File ? value : fail(path, "is no File");
    if (this.simple?.family === "list" && Array.isArray(value)) value = Object.freeze([...value]);
    const wrong = this.simple ? this.simple.check(value) : typeof value !== "string" ? "is no text" : findForbidden(value);
    if (wrong !== undefined) fail(path, wrong);
    return value;
  }

  takeAll(values: unknown, path: string): readonly unknown[] {
    if (!Array.isArray(values)) fail(path, "is no list");
    return this.checkCount(values.map((one, at) => this.take(one, `${path}[${at + 1}]`)), path);
  }

  writeText(value: unknown): string {
    return this.simple ? this.simple.write(value) : String(value);
  }

  write(value: unknown, around: string, files: Files): string {
    const { namespace, name } = this;
    const shape = this.shape;
    if (shape) return shape.write(value as Fields, namespace, name, around, files);
    if (value instanceof Element) return writeElement(value, around);
    if (value instanceof File) {
      files.push(value);
      return value.write(namespace, name, around);
    }
    const item = this.item;
    const content = item
      ? (value as readonly unknown[]).map((one) => item.write(one, namespace, files)).join("")
      : escapeText(this.writeText(value));
    return writeTag(namespace, name, around, "", content);
  }
}
