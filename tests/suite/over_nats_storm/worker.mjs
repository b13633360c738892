// A worker over NATS in Node without a client library, written from `docs/over-nats.md`: it speaks the protocol of NATS
// itself. It writes down where each piece of work begins and ends, and takes as long for it as it is told.

import { appendFileSync } from 'node:fs';
import { connect } from 'node:net';

const { SYSTOLE_NATS, SYSTOLE_ORGANISM, SYSTOLE_LISTENER, SYSTOLE_SLOTS } = process.env;
const { SYSTOLE_TEST_BOOK, SYSTOLE_TEST_WORK_MS } = process.env;
const TALK = 'https://xml-pipeline.org/ns/talk/v1';
const INBOX = `_INBOX_${SYSTOLE_LISTENER}.${process.pid}`;
const { hostname, port } = new URL(SYSTOLE_NATS);

/** The requests that wait for an answer, by their inbox, and the pulls that do. */
const waiting = new Map();
const pulls = new Set();
let socket;
let asked = 0;

const pause = (ms) => new Promise((over) => setTimeout(over, ms));
const note = (word, piece) => appendFileSync(SYSTOLE_TEST_BOOK, `${word} ${piece}\n`);
const publish = (subject, reply, body) =>
  socket.write(`PUB ${subject} ${reply} ${Buffer.byteLength(body)}\r\n${body}\r\n`);

/** Sends a request. Its answer, or nothing if none comes in time. */
const asks = (subject, body, ms, kind = new Set()) => new Promise((answered) => {
  const inbox = `${INBOX}.${asked += 1}`;
  const end = (answer) => {
    clearTimeout(late);
    waiting.delete(inbox);
    kind.delete(end);
    answered(answer);
  };
  const late = setTimeout(end, ms);
  waiting.set(inbox, end);
  kind.add(end);
  publish(subject, inbox, body);
});

async function works({ reply, head, body }) {
  const renewal = setInterval(() => publish(reply, '', '+WPI'), 1000);
  const [, to] = /^Systole-Reply: *(\S+)/m.exec(head);
  const [, delivery] = / delivery="([^"]+)"/.exec(body);
  const [, piece] = /<ask [^>]*>([^<]*)</.exec(body);
  note('begin', piece);
  await pause(Number(SYSTOLE_TEST_WORK_MS));
  note('end', piece);
  const answer = `<answer xmlns="${TALK}">done ${piece}</answer>`;
  const said = `<reply xmlns="urn:systole:listener:v1" delivery="${delivery}">${answer}</reply>`;
  // An answer without a body says that no pump hears it.
  while (!(await asks(to, said, 5000))?.body) await pause(200);
  clearInterval(renewal);
  publish(reply, '', '+ACK');
}

/** One slot: a pull after the other, and the work on what comes. */
async function serves() {
  const next = `$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_${SYSTOLE_ORGANISM}_BUS.${SYSTOLE_LISTENER}`;
  for (;;) {
    const came = await asks(next, '{"batch":1,"expires":5000000000}', 7000, pulls);
    if (came?.reply) await works(came);
    else if (!came?.head.startsWith('NATS/1.0 408')) await pause(1000);
  }
}

function heard(subject, message) {
  // A delivery does not say which pull it answers: the broker answers the oldest first. One that comes too late for
  // all of them is also ours.
  const [pull = works] = pulls;
  if (message.reply.startsWith('$JS.ACK.')) pull(message);
  else waiting.get(subject)?.(message);
}

/** Takes the first message or line off what came; nothing if it is not whole yet. */
function taken(bytes) {
  const end = bytes.indexOf('\r\n');
  if (end < 0) return undefined;
  const [verb, subject, , ...rest] = bytes.toString('utf8', 0, end).split(' ');
  const sizes = { MSG: 1, HMSG: 2 }[verb];
  if (!sizes) {
    if (verb === 'PING') socket.write('PONG\r\n');
    if (verb === '-ERR') console.error(bytes.toString('utf8', 0, end));
    return bytes.subarray(end + 2);
  }
  const from = end + 2;
  const split = from + (sizes === 2 ? Number(rest.at(-2)) : 0);
  const to = from + Number(rest.at(-1));
  if (bytes.length < to + 2) return undefined;
  const reply = rest.length > sizes ? rest[0] : '';
  heard(subject, { reply, head: bytes.toString('utf8', from, split), body: bytes.toString('utf8', split, to) });
  return bytes.subarray(to + 2);
}

/** Connects, and again whenever the connection breaks. */
function joins() {
  let bytes = Buffer.alloc(0);
  socket = connect(Number(port), hostname);
  socket.write('CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"lang":"node","version":"1"}\r\n');
  socket.write(`SUB ${INBOX}.* 1\r\n`);
  socket.on('data', (more) => {
    bytes = Buffer.concat([bytes, more]);
    for (let left = taken(bytes); left; left = taken(bytes)) bytes = left;
  });
  socket.on('error', (error) => console.error(error.message));
  socket.on('close', () => setTimeout(joins, 200));
}

joins();
console.error('connected');
for (let slot = 0; slot < Number(SYSTOLE_SLOTS); slot += 1) serves();
