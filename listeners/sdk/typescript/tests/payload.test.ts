// Payloads: what constructors admit and refuse, and what is read and written, with every kind of part and value.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import {
  bind, DateText, DateTimeText, DecimalText, DurationText, Element, File, Invalid, kind, type Payload, readPayload, TimeText, writePayload,
} from "../systole_sdk/payload.ts";
import { parseXml } from "../systole_sdk/xml.ts";
import { Task } from "./samples/conform.ts";
import { Everything, EverythingLine, Story, StoryPara, StoryPicture } from "./samples/kinds.ts";

const least = { word: "w", small: 1 };
const all = Everything({
  word: " two\r\nlines <&>\"' ]]> \u{1F600}", mode: "deep", small: 99, wide: -(2n ** 63n), price: DecimalText("12.50"), ratio: -Infinity,
  yes: false, data: Uint8Array.of(0, 255, 10), hex: Uint8Array.of(171), day: DateText("2026-01-31"), clock: TimeText("12:00:00Z"),
  moment: DateTimeText(new Date(0)), span: DurationText("PT30S"), sizes: [1, 2], either: "fast", tags: ["a", "b"],
  lines: [{ sku: "AB-1", quantity: 2 }, EverythingLine({ sku: "none", quantity: 3 })], plain: "in no namespace",
  far: Task({ do: "echo", n: 3n, text: "far" }), photo: new File(Buffer.from("%PDF-1.7"), undefined, "plan.pdf"),
  more: parseXml("<more xmlns='urn:kinds:v1'><x y='1'>z</x>t</more>"), any: [new Element("urn:other", "o"), new Element("urn:none", "n", {}, ["t"])],
  unit: "fahrenheit", iban: "DE00 1234",
});

test("what is written is read as the same", () => {
  const xml = writePayload(all);
  assert.ok(!/[\r\n\t]/.test(xml));
  const read = Everything.read(xml);
  assert.deepEqual({ ...read, photo: undefined }, { ...all, photo: undefined });
  assert.equal(read.photo?.sha256, all.photo?.sha256);
  assert.deepEqual([read.photo?.size, read.photo?.type, read.photo?.name], [8, "application/pdf", "plan.pdf"]);
  assert.equal(writePayload(read), xml);
  assert.equal(read[kind], "urn:kinds:v1 everything");
  assert.ok(Everything.is(readPayload(parseXml(xml))));
});

test("children are written in the order of the schema, each in its namespace", () => {
  const written = writePayload(Everything({ small: 1, word: "w", plain: "p", any: [new Element("urn:o", "o")], lines: [{ sku: "none", quantity: 1 }] }));
  assert.equal(
    written,
    '<everything xmlns="urn:kinds:v1"><word>w</word><o xmlns="urn:o"/><small>1</small><line><sku>none</sku>' +
      '<quantity>1</quantity></line><plain xmlns="">p</plain></everything>',
  );
});

test("the files of a payload are collected, and a list keeps its order", () => {
  const files: File[] = [];
  const story = Story({ items: [StoryPicture({ href: "a" }), StoryPara({ text: "t" }), all, new Element("urn:x", "x")] });
  const xml = writePayload(story, files);
  assert.deepEqual(files.map((one) => one.sha256), [all.photo?.sha256]);
  const read = Story.read(xml);
  assert.deepEqual(read.items.map((one) => (one instanceof Element ? "any" : StoryPara.is(one) ? "para" : StoryPicture.is(one) ? "picture" : "everything")),
    ["picture", "para", "everything", "any"]);
});

test("constructors name the path and the facet", () => {
  const refused: [object, RegExp][] = [
    [{}, /^\/everything\/word: is missing/],
    [{ ...least, any: [new Element("", "n")] }, /\/everything\/any: <n> has to be of another namespace/],
    [{ word: "w" }, /\/everything\/small: is missing/],
    [{ ...least, word: "" }, /\/everything\/word: an empty text has 0 characters, fewer than 1/],
    [{ ...least, small: 0 }, /\/everything\/small: 0 is less than 1/],
    [{ ...least, small: 100 }, /small: 100 is not less than 100/],
    [{ ...least, small: 1.5 }, /small: 1.5 is no whole number/],
    [{ ...least, small: "1" }, /small: 1 is no whole number/],
    [{ ...least, wide: 2n ** 63n }, /wide: 9223372036854775808 is more than 9223372036854775807/],
    [{ ...least, wide: 2 ** 60 }, /wide: 1152921504606847000 is no whole number that is exact: give a bigint/],
    [{ ...least, price: "1.234" }, /price: 1.234 has more than 2 digits after the point/],
    [{ ...least, price: "0.00" }, /price: 0.00 is not more than 0/],
    [{ ...least, price: "1234567890123456789012345" }, /price: 1234567890123456789012345 has more than 24 digits/],
    [{ ...least, price: "1e3" }, /price: 1e3 is no decimal/],
    [{ ...least, day: "31.1.2026" }, /day: 31.1.2026 is no date/],
    [{ ...least, mode: "slow" }, /mode: slow is none of fast, deep/],
    [{ ...least, data: new Uint8Array(9) }, /data: .* has 9 bytes, more than 8/],
    [{ ...least, data: "text" }, /data: text is no Uint8Array/],
    [{ ...least, sizes: [1, 2, 3, 4] }, /sizes: .* has 4 values, more than 3/],
    [{ ...least, either: "x" }, /either: x is none of/],
    [{ ...least, tags: ["a", "b", "c", "d"] }, /tags\/item: is there 4 times, more than 3/],
    [{ ...least, tags: "a" }, /tags\/item: is no list/],
    [{ ...least, lines: [{ sku: "x", quantity: 1 }] }, /line\[1\]\/sku: x does not match/],
    [{ ...least, lines: [Task({ do: "echo", text: "" })] }, /line\[1\]: is no EverythingLine/],
    [{ ...least, word: "a\u0001" }, /word: character 2 is U\+0001/],
    [{ ...least, plain: "\uDC00" }, /plain: character 1 is U\+DC00/],
    [{ ...least, photo: "door.png" }, /photo: is no File/],
    [{ ...least, more: new Element("urn:o", "more") }, /more: is no Element <more>/],
    [{ ...least, wrod: "w" }, /\/everything: there is no field "wrod" in Everything/],
  ];
  for (const [given, words] of refused) {
    assert.throws(() => Everything(given as never), (error) => error instanceof Invalid && words.test(error.message), String(words));
  }
  assert.throws(() => Story({ items: [{ text: "t" } as never] }), /items\[1\]: is none of StoryPara, StoryPicture, Everything/);
  assert.throws(() => Story({ items: [] }), /items: has 0 elements, fewer than 1/);
  assert.throws(() => Task(undefined as never), /\/task: is no Task/);
});

test("values are read as XML Schema says, and unknown parts are skipped", () => {
  const read = Everything.read(
    "<k:everything xmlns:k='urn:kinds:v1' unit=' celsius ' new='1' xmlns:x='urn:x' x:y='2'><k:new/><k:word> w </k:word><k:mode/><k:small> +07 </k:small>" +
      "<k:wide>7</k:wide><k:yes>1</k:yes><k:ratio>NaN</k:ratio><k:sizes> 1  2 </k:sizes><k:either>5</k:either><k:data>AP 8K</k:data></k:everything>",
  );
  assert.deepEqual([read.word, read.mode, read.small, read.wide, read.yes, read.ratio, read.unit], [" w ", "fast", 7, 7n, true, NaN, "celsius"]);
  assert.deepEqual([read.sizes, read.either, read.data, read.tags, read.lines], [[1, 2], 5, Uint8Array.of(0, 255, 10), undefined, []]);
  assert.equal(Everything.read(writePayload(Everything(least))).unit, "celsius");
  assert.throws(() => Everything.read("<everything xmlns='urn:kinds:v1'><word>w</word></everything>"), /\/everything\/small: is missing/);
  assert.throws(() => Everything.read("<everything xmlns='urn:kinds:v1'><word>w</word><word>w</word><small>1</small></everything>"), /word: is there 2 times/);
  assert.throws(() => Everything.read("<everything/>"), /is no <everything> of urn:kinds:v1/);
});

test("a payload is frozen, and shows no sensitive value", () => {
  assert.throws(() => Object.assign(all, { word: "x" }), TypeError);
  assert.throws(() => (all.tags as string[]).push("c"), TypeError);
  assert.match(inspect(all), /^Everything \{/);
  assert.ok(!inspect(all).includes("1234") && inspect(all).includes("(sensitive)"));
});

test("what is wrong with a sensitive value does not show it", () => {
  const row = (name: string, type: object, more = {}): object => ({ name, field: name, type, min: 0, sensitive: 1, ...more });
  const module = bind({ namespace: "urn:secret", elements: { a: "A" }, simple: [{ base: "string", minLength: 12 }], classes: {
    A: { element: "a", attributes: [row("pw", { simple: 0 })], children: [row("pin", { simple: 0 }), row("list", { items: { name: "item", type: { simple: 0 } } }), row("part", { class: "B" }), row("many", { simple: 0 }, { max: 0 })] },
    B: { text: { field: "text", type: { simple: 0 }, sensitive: 1 } },
  } } as never);
  const A = module.payload<Payload & { readonly [field: string]: unknown }>("A");
  const words = /^\/a\/[a-z@/[\]0-9]+: the value, which is sensitive, is none that the schema takes$/;
  for (const given of [{ pw: "hunter2" }, { pw: 7 }, { pin: "hunter2" }, { list: ["hunter2"] }, { part: { text: "hunter2" } }, { many: ["hunter2"] }]) {
    assert.throws(() => A(given), (error) => error instanceof Invalid && words.test(error.message), JSON.stringify(given));
  }
  for (const inside of ['pw="hunter2">', "><pin>hunter2</pin>", "><list><item>hunter2</item></list>", "><part>hunter2</part>", "><many>hunter2</many>"]) {
    assert.throws(() => A.read(`<a xmlns="urn:secret" ${inside}</a>`), (error) => error instanceof Invalid && words.test(error.message), inside);
  }
  assert.equal(A.read('<a xmlns="urn:secret" pw="correct horse"/>')["pw"], "correct horse");
});

test("a module with a class that no module has says so", () => {
  const shapes = bind({ namespace: "urn:lost", elements: { a: "A" }, classes: { A: { element: "a", children: [{ name: "b", field: "b", type: { class: "B", module: "urn:none" } }] } } });
  const A = shapes.payload<{ b: object }>("A");
  assert.throws(() => A({ b: {} }), /the class B of urn:none is not imported/);
});
