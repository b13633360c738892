// The reader of XML against saxes, over documents that are drawn, cut and changed; and the writer against the reader.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SaxesParser } from "saxes";
import { DEPTH, Element, parseXml, writeElement, XmlError } from "../systole_sdk/xml.ts";
import { Draw } from "./draw.ts";

/** What saxes makes of a document: the same tree, or nothing if it refuses. */
function readBySaxes(text: string): Element | undefined {
  let root: Element | undefined;
  let broken = false;
  const open: (Element | string)[][] = [];
  const parser = new SaxesParser({ xmlns: true });
  const add = (words: string): void => {
    const children = open.at(-1);
    if (!children || words === "") return;
    const last = children.at(-1);
    if (typeof last === "string") children[children.length - 1] = last + words;
    else children.push(words);
  };
  parser.on("error", () => { broken = true; });
  parser.on("doctype", () => { broken = true; });
  parser.on("text", add);
  parser.on("cdata", add);
  parser.on("opentag", (tag) => {
    const attributes = new Map<string, string>();
    for (const one of Object.values(tag.attributes)) {
      if (one.uri === "http://www.w3.org/2000/xmlns/") continue;
      attributes.set(one.uri === "" ? one.local : `{${one.uri}}${one.local}`, one.value);
    }
    const children: (Element | string)[] = [];
    const element = new Element(tag.uri, tag.local, attributes, children);
    const around = open.at(-1);
    if (around) around.push(element);
    else root = element;
    open.push(children);
  });
  parser.on("closetag", () => { open.pop(); });
  parser.write(text).close();
  return broken ? undefined : root;
}

function readByUs(text: string): Element | undefined {
  try {
    return parseXml(text);
  } catch (error) {
    if (error instanceof XmlError) return undefined;
    throw error;
  }
}

const BITS = [
  "text", " ", "\n", "\r\n", "\r", "\t", "&amp;", "&lt;", "&#10;", "&#x1F600;", "&#0;", "&#xD800;", "&nope;", "&", "]]>",
  "\u0085", "\u2028", "\uFFFD", "\u{1F600}", "e\u0301", "\u0001", "\uD800", "<!-- c -->", "<!-- a--b -->", "<?pi x?>",
  "<?xml x?>", "<?p:i x?>", "<![CDATA[a<b&]]>", "<![CDATA[a]]]]>", "<a/>", "<p:a xmlns:p='urn:p'/>", "<p:a/>", "</a>",
  "<x xmlns='urn:d'>", "</x>", "<y a='1' b=\"&quot;\"/>", "<y a='1' a='2'/>", "<y a='<'/>", "<y a='1'b='2'/>", "<y a=1/>",
  "<q xmlns:p='urn:p' xmlns:q='urn:p' p:a='1' q:a='2'/>", "<q xmlns:p=''/>", "<q xmlns=''/>", "<q xmlns:xml='urn:x'/>",
  "<q xml:lang='de' xml:space=\"preserve\"/>", "<q xmlns:xmlns='u'/>", "<q xmlns:p='http://www.w3.org/XML/1998/namespace'/>",
  "<!DOCTYPE a>", "<a:b:c/>", "<\u00e9t\u00e9 \u00fc='1'/>", "<1a/>", "<a >", "</a >", "< a/>", "<a\n\tb='\n\t'\n/>", ">", "\"",
  "<xmlns:a/>", "<a xmlns='http://www.w3.org/2000/xmlns/'/>", "<a/ >", "<?pi?>", "<? pi?>", "<!---->", "<!--->", "<![cdata[x]]>",
];

test("the reader and saxes agree about documents that are put together from bits", () => {
  const draw = new Draw(46);
  const seen = { read: 0, refused: 0 };
  for (let round = 0; round < 60_000; round++) {
    let inside = "";
    for (let left = draw.below(4); left >= 0; left--) inside += draw.one(BITS);
    const head = draw.one(["", "", "", '<?xml version="1.0"?>', "<?xml version='1.0' encoding='UTF-8' standalone='yes'?>\n", "\n", "<?xml?>"]);
    agree(`${head}<r xmlns="urn:r">${inside}</r>${draw.one(["", "", "\n", "<!-- c -->", "x", "<r/>"])}`, seen);
  }
  assert.ok(seen.read > 4_000 && seen.refused > 20_000, JSON.stringify(seen));
});

test("the reader and saxes agree about documents that are changed in one place", () => {
  const draw = new Draw(47);
  const seen = { read: 0, refused: 0 };
  const whole =
    "<?xml version=\"1.0\"?>\n<m:message xmlns:m='urn:m' a=\"1 &gt; 0\"><!-- c --><s:stamp xmlns:s=\"urn:s\" key='k'/>" +
    "<task xmlns='urn:t' do=\"x\">a &amp; b<![CDATA[ <c> ]]>&#10;\u{1F600}<?p i?><n xmlns=''/></task></m:message>\n";
  for (let round = 0; round < 40_000; round++) {
    const at = draw.below(whole.length);
    const until = at + draw.below(3);
    agree(whole.slice(0, at) + draw.one([...BITS, ...whole, "", ""]) + whole.slice(until), seen);
  }
  for (let end = 0; end < whole.length; end++) agree(whole.slice(0, end), seen);
  assert.ok(seen.read > 8_000 && seen.refused > 8_000, JSON.stringify(seen));
});

function agree(text: string, seen: { read: number; refused: number }): void {
  // saxes knows no encodings, so it takes any name of one.
  if (/encoding=['"](?!UTF-8['"])/.test(text)) return;
  // It cuts blanks off the name of a namespace, which is a value like any other.
  if (/xmlns[^=]*=\s*(["'])(\s|[^"']*(\s\1|&#))/.test(text)) return;
  // It takes a digit after a prefix, though no local name begins with one.
  if (/[<\s/]\w+:[-.\d]/.test(text)) return;
  // It takes a question mark in the name of a processing instruction.
  if (/<\?[^\s?]*\?[^>]/.test(text)) return;
  // Half a surrogate pair hides the next character from saxes.
  if (/\p{Surrogate}/u.test(text)) return void assert.equal(readByUs(text), undefined);
  const [ours, theirs] = [readByUs(text), readBySaxes(text)];
  assert.deepEqual(ours, theirs, JSON.stringify(text));
  if (ours) {
    seen.read++;
    const written = writeElement(ours);
    assert.ok(!/[\r\n]/.test(written), "a document is one line");
    assert.deepEqual(parseXml(written), ours, written);
    assert.deepEqual(readBySaxes(written), ours, written);
  } else seen.refused++;
}

test("a DOCTYPE, depth, and bytes that are no UTF-8 are refused with the place", () => {
  assert.throws(() => parseXml("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"), /DOCTYPE.*1:1/);
  assert.throws(() => parseXml("<a>".repeat(DEPTH + 1) + "</a>".repeat(DEPTH + 1)), /256 deep/);
  assert.equal(parseXml("<a>".repeat(DEPTH) + "</a>".repeat(DEPTH)).name, "a");
  assert.throws(() => parseXml(Uint8Array.of(0x3c, 0x61, 0x3e, 0xff)), /UTF-8/);
  assert.throws(() => parseXml("<?xml version='1.0' encoding='latin1'?><a/>"), /latin1/);
  assert.throws(() => parseXml("<a>\n <b></a>"), /<\/b> was expected, at 2:5/);
});

test("what no document can carry is refused by the writer", () => {
  assert.throws(() => writeElement(new Element("", "a", {}, ["ok\u0001"])), /character 3 is U\+0001/);
  assert.throws(() => writeElement(new Element("", "a", { b: "\uD800" })), /U\+D800/);
  assert.throws(() => writeElement(new Element("", "a b")), /no name/);
});

test("a large text is read in time that grows with its size", () => {
  const part = "x&amp;y<b/>\n".repeat(200_000);
  assert.equal(parseXml(`<a>${part}</a>`).elements.length, 200_000);
});
