// A file in a payload. On the wire it is a reference, and its bytes are stored beside it.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { Element, writeAttributes, writeTag } from "./xml.ts";

/** A file that a payload refers to: `new File("door.png", "image/png")`. Its bytes are stored before the reply. */
export class File {
  readonly sha256: string;
  readonly type: string;
  /** How many bytes it has. */
  readonly size: number;
  readonly name: string | undefined;
  /** Its bytes; none of a file that was received: `turn.blob(file.sha256)` reads these. */
  readonly data: Uint8Array | undefined;

  /** Takes bytes, the path of a file, or a reference. Without a type, the first bytes decide. */
  constructor(from: Uint8Array | string | { readonly sha256: string; readonly size: number }, type?: string, name?: string) {
    const data = typeof from === "string" ? readFileSync(from) : from instanceof Uint8Array ? from : undefined;
    this.data = data;
    this.type = type ?? findType(data ?? new Uint8Array());
    this.name = name ?? (typeof from === "string" ? basename(from) : undefined);
    this.sha256 = data ? createHash("sha256").update(data).digest("hex") : (from as { sha256: string }).sha256;
    this.size = data ? data.length : (from as { size: number }).size;
  }

  /** The reference of an element; nothing if it is none. */
  static fromElement(element: Element): File | undefined {
    const [sha256, type, bytes] = [element.get("sha256"), element.get("type"), element.get("bytes")];
    if (sha256 === undefined || type === undefined || bytes === undefined) return undefined;
    return new File({ sha256, size: Number(bytes) }, type, element.get("name"));
  }

  /** Writes the reference. */
  write(namespace: string, name: string, around: string): string {
    const attributes = { sha256: this.sha256, type: this.type, bytes: this.size, name: this.name };
    return writeTag(namespace, name, around, writeAttributes(attributes), "");
  }
}

function findType(data: Uint8Array): string {
  const start = Buffer.from(data.subarray(0, 12)).toString("latin1");
  const types = { "\x89PNG\r\n\x1a\n": "image/png", "\xff\xd8\xff": "image/jpeg", GIF8: "image/gif", "%PDF-": "application/pdf" };
  if (/^RIFF.{4}WEBP/s.test(start)) return "image/webp";
  const found = Object.entries(types).find(([head]) => start.startsWith(head));
  if (!found) throw new Error("the file begins like no PNG, JPEG, GIF, WebP or PDF: give its type");
  return found[1];
}
