// XML 1.0 with namespaces: a strict reader of one document, and the writer of elements. A DOCTYPE is refused, so no
// document can grow or reach outside. Text comes in, trees of `Element` go out, and back. It knows no schema.

/** An element as it is in a document. Prefixes are resolved, so they mean nothing. */
export class Element {
  readonly namespace: string;
  readonly name: string;
  /** By local name; an attribute of a namespace is called `{namespace}name`. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly (Element | string)[];

  constructor(
    namespace: string,
    name: string,
    attributes: ReadonlyMap<string, string> | { readonly [name: string]: string } = {},
    children: readonly (Element | string)[] = [],
  ) {
    this.namespace = namespace;
    this.name = name;
    this.attributes = attributes instanceof Map ? attributes : new Map<string, string>(Object.entries(attributes));
    this.children = children;
  }

  /** The text directly inside. */
  get text(): string {
    const children = this.children;
    const first = children[0];
    if (children.length <= 1) return typeof first === "string" ? first : "";
    return children.filter((child) => typeof child === "string").join("");
  }

  /** The elements directly inside. */
  get elements(): Element[] {
    return this.children.filter((child) => typeof child !== "string");
  }

  get(attribute: string): string | undefined {
    return this.attributes.get(attribute);
  }

  /** The first element of this name directly inside. */
  find(namespace: string, name: string): Element | undefined {
    for (const child of this.children) {
      if (typeof child !== "string" && child.name === name && child.namespace === namespace) return child;
    }
    return undefined;
  }

  is(namespace: string, name: string): boolean {
    return this.name === name && this.namespace === namespace;
  }

  toString(): string {
    return writeElement(this);
  }
}

/** Why a text is no document that can be read, or why it cannot be written as one. */
export class XmlError extends Error {
  override name = "XmlError";
}

/** The deepest nesting that is read. */
export const DEPTH = 256;

const XML = "http://www.w3.org/XML/1998/namespace";
const XMLNS = "http://www.w3.org/2000/xmlns/";
const ENTITIES: { readonly [name: string]: string } = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

const START =
  "A-Z_a-z\\xC0-\\xD6\\xD8-\\xF6\\xF8-\\u02FF\\u0370-\\u037D\\u037F-\\u1FFF\\u200C\\u200D\\u2070-\\u218F\\u2C00-\\u2FEF" +
  "\\u3001-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFFD\\u{10000}-\\u{EFFFF}";
const CHAR = `${START}\\-.0-9\\xB7\\u0300-\\u036F\\u203F\\u2040`;
const NCNAME = `[${START}][${CHAR}]*`;
const QNAME = `(?:(${NCNAME}):)?(${NCNAME})`;
const SPACE = "[ \\t\\n]";
/** A name as XML has it, and one without a colon. */
export const NAME_PATTERN = new RegExp(`^[:${START}][:${CHAR}]*$`, "u");
export const NCNAME_PATTERN = new RegExp(`^${NCNAME}$`, "u");
export const NMTOKEN_PATTERN = new RegExp(`^[:${CHAR}]+$`, "u");
const FORBIDDEN = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

const QNAME_AT = new RegExp(QNAME, "uy");
const TARGET_AT = new RegExp(NCNAME, "uy");
const ATTRIBUTE_AT = new RegExp(`${SPACE}+${QNAME}${SPACE}*=${SPACE}*(?:"([^"<]*)"|'([^'<]*)')`, "uy");
const TAG_END_AT = new RegExp(`${SPACE}*(/?)>`, "uy");
const DECLARATION = new RegExp(
  `^<\\?xml${SPACE}+version${SPACE}*=${SPACE}*(?:"1\\.[0-9]+"|'1\\.[0-9]+')` +
    `(?:${SPACE}+encoding${SPACE}*=${SPACE}*(?:"([A-Za-z][\\w.-]*)"|'([A-Za-z][\\w.-]*)'))?` +
    `(?:${SPACE}+standalone${SPACE}*=${SPACE}*(?:"(?:yes|no)"|'(?:yes|no)'))?${SPACE}*\\?>`,
);

/** Where the first character is that no document can carry, or nothing. */
export function findForbidden(text: string): string | undefined {
  const found = FORBIDDEN.exec(text);
  if (!found) return undefined;
  const code = (found[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `character ${found.index + 1} is U+${code}, which XML cannot carry`;
}

/** An element that is read and not closed yet. */
interface Open {
  readonly tag: string;
  readonly children: (Element | string)[];
  readonly scope: ReadonlyMap<string, string>;
}

const TOP_SCOPE: ReadonlyMap<string, string> = new Map([["xml", XML]]);

/** Reads one document, which must be well-formed. Bytes are UTF-8. */
export function parseXml(source: string | Uint8Array, depth: number = DEPTH): Element {
  if (typeof source === "string") return new XmlReader(source, depth).read();
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(source);
  } catch {
    throw new XmlError("the document is not UTF-8");
  }
  return new XmlReader(text, depth).read();
}

class XmlReader {
  readonly text: string;
  readonly depth: number;
  at = 0;
  readonly open: Open[] = [];
  root: Element | undefined;

  constructor(source: string, depth: number) {
    this.text = source.includes("\r") ? source.replace(/\r\n?/g, "\n") : source;
    this.depth = depth;
    if (this.text.startsWith("\uFEFF")) this.at = 1;
    const forbidden = findForbidden(this.text);
    if (forbidden) throw new XmlError(forbidden);
  }

  fail(words: string, at: number = this.at): never {
    const lines = this.text.slice(0, at).split("\n");
    throw new XmlError(`${words}, at ${lines.length}:${(lines.at(-1) ?? "").length + 1}`);
  }

  match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at = pattern.lastIndex;
    return found;
  }

  read(): Element {
    this.readDeclaration();
    const text = this.text;
    while (this.at < text.length) {
      if (text[this.at] !== "<") this.readText();
      else if (text.startsWith("</", this.at)) this.readEndTag();
      else if (text.startsWith("<!--", this.at)) this.readComment();
      else if (text.startsWith("<?", this.at)) this.readInstruction();
      else if (text.startsWith("<![CDATA[", this.at)) this.readCdata();
      else if (text.startsWith("<!", this.at)) this.fail("a DOCTYPE, or another declaration, is not allowed");
      else this.readStartTag();
    }
    const open = this.open.at(-1);
    if (open) this.fail(`<${open.tag}> is not closed`);
    return this.root ?? this.fail("there is no element");
  }

  readDeclaration(): void {
    const rest = this.text.slice(this.at, this.at + 200);
    if (!/^<\?xml[ \t\n?]/.test(rest)) return;
    const found = DECLARATION.exec(rest);
    if (!found) this.fail("the XML declaration is wrong");
    const encoding = found[1] ?? found[2] ?? "utf-8";
    if (!/^(utf-8|us-ascii)$/i.test(encoding)) this.fail(`the encoding is ${encoding}, and has to be UTF-8`);
    this.at += found[0].length;
  }

  readText(): void {
    const found = this.text.indexOf("<", this.at);
    const end = found < 0 ? this.text.length : found;
    const raw = this.text.slice(this.at, end);
    const inside = this.open.at(-1);
    if (inside) {
      if (raw.includes("]]>")) this.fail("]]> is not allowed in text");
      this.addText(inside, raw.includes("&") ? this.expand(raw) : raw);
    } else if (/[^ \t\n]/.test(raw)) this.fail("there is text outside of the element");
    this.at = end;
  }

  addText(inside: Open, text: string): void {
    const last = inside.children.length - 1;
    const before = inside.children[last];
    if (typeof before === "string") inside.children[last] = before + text;
    else if (text) inside.children.push(text);
  }

  expand(raw: string): string {
    return raw.replace(/&([^;&]*);?/g, (whole: string, name: string) => {
      const entity = Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined;
      if (entity !== undefined && whole.endsWith(";")) return entity;
      const digits = /^#(?:x([0-9a-fA-F]+)|([0-9]+))$/.exec(name);
      if (!digits || !whole.endsWith(";")) this.fail(`${whole.slice(0, 40)} is no reference`);
      const code = digits[1] ? Number.parseInt(digits[1], 16) : Number.parseInt(digits[2] ?? "", 10);
      const char = code <= 0x10ffff ? String.fromCodePoint(code) : "\0";
      if (FORBIDDEN.test(char)) this.fail(`&${name}; names a character that XML cannot carry`);
      return char;
    });
  }

  readComment(): void {
    const end = this.text.indexOf("--", this.at + 4);
    if (end < 0 || this.text[end + 2] !== ">") this.fail("a comment does not end, or has -- inside");
    this.at = end + 3;
  }

  readInstruction(): void {
    const start = this.at;
    this.at += 2;
    const target = this.match(TARGET_AT)?.[0];
    if (!target || /^xml$/i.test(target)) this.fail("a processing instruction has a wrong name", start);
    const end = this.text.indexOf("?>", this.at);
    if (end < 0 || (end > this.at && !/[ \t\n]/.test(this.text[this.at] ?? ""))) {
      this.fail("a processing instruction does not end, or has a wrong name", start);
    }
    this.at = end + 2;
  }

  readCdata(): void {
    const inside = this.open.at(-1) ?? this.fail("CDATA is outside of the element");
    const end = this.text.indexOf("]]>", this.at);
    if (end < 0) this.fail("CDATA does not end");
    this.addText(inside, this.text.slice(this.at + 9, end));
    this.at = end + 3;
  }

  readEndTag(): void {
    const open = this.open.pop() ?? this.fail("an end tag has no start tag");
    const start = this.at;
    this.at += 2;
    if (!this.text.startsWith(open.tag, this.at)) this.fail(`</${open.tag}> was expected`, start);
    this.at += open.tag.length;
    if (this.match(TAG_END_AT)?.[1] !== "") this.fail(`</${open.tag}> was expected`, start);
  }

  readStartTag(): void {
    const start = this.at++;
    if (this.root && this.open.length === 0) this.fail("there is a second element", start);
    if (this.open.length >= this.depth) this.fail(`elements are nested more than ${this.depth} deep`, start);
    const name = this.match(QNAME_AT) ?? this.fail("< begins no tag", start);
    const tag = name[0];
    const raw: [prefix: string | undefined, local: string, value: string][] = [];
    let scope = this.open.at(-1)?.scope ?? TOP_SCOPE;
    const declared = new Set<string>();
    for (let found; (found = this.match(ATTRIBUTE_AT)); ) {
      const [prefix, local = ""] = [found[1], found[2]];
      let value = found[3] ?? found[4] ?? "";
      if (/[\t\n]/.test(value)) value = value.replace(/[\t\n]/g, " ");
      if (value.includes("&")) value = this.expand(value);
      if (prefix !== "xmlns" && (prefix !== undefined || local !== "xmlns")) raw.push([prefix, local, value]);
      else {
        const of = prefix === "xmlns" ? local : "";
        if (declared.has(of)) this.fail(`xmlns of "${of}" is there twice`);
        declared.add(of);
        scope = this.declare(scope, of, value);
      }
    }
    const end = this.match(TAG_END_AT) ?? this.fail(`the tag <${tag}> is wrong`);
    const attributes = new Map<string, string>();
    for (const [prefix, local, value] of raw) {
      const key = prefix === undefined ? local : `{${this.resolve(scope, prefix)}}${local}`;
      if (attributes.has(key)) this.fail(`the attribute ${local} is there twice`, start);
      attributes.set(key, value);
    }
    const namespace = name[1] === undefined ? (scope.get("") ?? "") : this.resolve(scope, name[1]);
    const children: (Element | string)[] = [];
    const element = new Element(namespace, name[2] ?? "", attributes, children);
    const parent = this.open.at(-1);
    if (parent) parent.children.push(element);
    else this.root = element;
    if (end[1] === "") this.open.push({ tag, children, scope });
  }

  declare(scope: ReadonlyMap<string, string>, prefix: string, namespace: string): ReadonlyMap<string, string> {
    const reserved = prefix === "xmlns" || namespace === XMLNS || (prefix === "xml") !== (namespace === XML);
    if (reserved) this.fail(`the prefix "${prefix}" cannot mean ${namespace}`);
    if (prefix !== "" && namespace === "") this.fail(`the prefix ${prefix} has no namespace`);
    return new Map(scope).set(prefix, namespace);
  }

  resolve(scope: ReadonlyMap<string, string>, prefix: string): string {
    return scope.get(prefix) ?? this.fail(`the prefix ${prefix} is not declared`);
  }
}

const ESCAPES: { readonly [char: string]: string } = {
  "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;",
};

/** Text between tags. A line break is written as a reference, so that a document is one line. */
export function escapeText(text: string): string {
  return check(/[&<>\r\n]/.test(text) ? text.replace(/[&<>\r\n]/g, (char) => ESCAPES[char] ?? char) : text);
}

/** The value of an attribute, between double quotes. */
export function escapeAttribute(text: string): string {
  return check(/[&<>"\t\r\n]/.test(text) ? text.replace(/[&<>"\t\r\n]/g, (char) => ESCAPES[char] ?? char) : text);
}

function check(text: string): string {
  const forbidden = findForbidden(text);
  if (forbidden) throw new XmlError(forbidden);
  return text;
}

/** Writes a tag with its content, which is XML already. A namespace is declared if it is not that around it. */
export function writeTag(namespace: string, name: string, around: string, attributes: string, content: string): string {
  const xmlns = namespace === around ? "" : ` xmlns="${escapeAttribute(namespace)}"`;
  return content === "" ? `<${name}${xmlns}${attributes}/>` : `<${name}${xmlns}${attributes}>${content}</${name}>`;
}

/** Writes attributes without a namespace; those that are undefined are left out. */
export function writeAttributes(attributes: { readonly [name: string]: string | number | undefined }): string {
  let out = "";
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) out += ` ${name}="${escapeAttribute(String(value))}"`;
  }
  return out;
}

/** Writes an element, inside of another one whose default namespace is `around`. */
export function writeElement(element: Element, around = "", depth = 0): string {
  if (depth >= DEPTH) throw new XmlError(`elements are nested more than ${DEPTH} deep`);
  let attributes = "";
  let prefixes = 0;
  for (const [key, value] of element.attributes) {
    const [, namespace, local = key] = /^\{([^}]*)\}(.*)$/s.exec(key) ?? [];
    checkName(local);
    let name = local;
    if (namespace === XML) name = `xml:${local}`;
    else if (namespace !== undefined) {
      name = `n${++prefixes}:${local}`;
      attributes += ` xmlns:n${prefixes}="${escapeAttribute(namespace)}"`;
    }
    attributes += ` ${name}="${escapeAttribute(value)}"`;
  }
  let content = "";
  for (const child of element.children) {
    content += typeof child === "string" ? escapeText(child) : writeElement(child, element.namespace, depth + 1);
  }
  return writeTag(element.namespace, checkName(element.name), around, attributes, content);
}

function checkName(name: string): string {
  if (!NCNAME_PATTERN.test(name)) throw new XmlError(`${JSON.stringify(name.slice(0, 80))} is no name of XML`);
  return name;
}
