// Listeners and clients of Systole: what a program imports.
export { Client, type EventOptions, Problem, type SendOptions, Sent, Unanswered, Unreached, type WaitOptions } from "./client.ts";
export { Again, Cancelled, Fail, Refused, To } from "./documents.ts";
export { File } from "./file.ts";
export { type Handler, listener, type Reply } from "./listener.ts";
export {
  DateText, DateTimeText, DecimalText, DurationText, Invalid, kind, type Part, type Payload, TimeText,
} from "./payload.ts";
export { run, type RunOptions } from "./run.ts";
export { Answer, Entry, Message, type View } from "./shown.ts";
export { Turn } from "./turn.ts";
export { Element, XmlError } from "./xml.ts";
