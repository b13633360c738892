// The organism of the stories: messages to its door, commands, and signing in to its pages.

import { request } from 'node:http';
import { PATIENCE, does, facts, holds, same, until, visit } from './stage.mjs';

/** The name of the session's cookie: cookies ignore ports. */
export const cookieName = () => `systole_${new URL(facts.address).port}`;

/** A request of a program. Unlike `fetch` it may name any host. Returns the status, the headers and the body. */
export function asks(method, path, { headers = {}, body = '', token } = {}) {
  const all = { ...headers, 'content-length': Buffer.byteLength(body) };
  if (token) all.authorization = `Bearer ${token}`;
  return new Promise((answers, fails) => {
    const asked = request(new URL(path, facts.address), { method, headers: all, agent: false }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('error', fails);
      answer.on('end', () => {
        const text = Buffer.concat(parts).toString();
        answers({ status: answer.statusCode, headers: answer.headers, text });
      });
    });
    asked.on('error', fails);
    asked.end(body);
  });
}

export const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('\r', '&#13;');

/** Sends a text to a listener, and returns the receipt. `wait`: only after the answer. */
export async function sends(to, words, { token = facts.token, thread, key, wait = true } = {}) {
  const headers = wait ? { 'systole-wait': '300' } : {};
  if (key) headers['idempotency-key'] = key;
  const body = `<say xmlns="https://xml-pipeline.org/ns/${to}/v1"><text>${escaped(words)}</text></say>`;
  const path = `/v1/messages${thread ? `?thread=${encodeURIComponent(thread)}` : ''}`;
  const answer = await asks('POST', path, { headers, body, token });
  return { status: answer.status, ...JSON.parse(answer.text) };
}

/** Asks the agent, and returns the receipt with the answer. */
export async function asksSage(words) {
  const body = `<ask xmlns="https://xml-pipeline.org/ns/talk/v1">${escaped(words)}</ask>`;
  const answer = await asks('POST', '/v1/messages?to=sage', { headers: { 'systole-wait': '300' }, body, token: facts.token });
  same(answer.status, 200, answer.text);
  return JSON.parse(answer.text);
}

/** Runs a command in the folder of the organism. Fails if it does. */
export async function systole(...words) {
  const ran = await does('systole', { arguments: words });
  holds(ran.code === 0, `systole ${words.join(' ')}: ${JSON.stringify(ran)}`);
  return ran.stdout;
}

/** Starts the organism again, which has a new token. */
export async function starts() {
  Object.assign(facts, await does('start'));
}

/** Signs a context in: by the address of `systole console`, or with the token of a client. Returns its page. */
export async function signedIn(context, client) {
  const page = await context.newPage();
  // The page to sign in is an answer of 401.
  context.stage.expects(/status of 401/);
  const address = client ? null : (await systole('console', '--no-browser')).trim();
  if (address && context.hasScripts) {
    await page.goto(address);
    await page.locator('.who').waitFor();
    await until(page, () => document.documentElement.classList.contains('has-secret'), 'the tab has its secret');
    return page;
  }
  await visit(page, '/session');
  await page.getByLabel('Code or token').fill(client ? facts.tokens[client] : address.split('#')[1]);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.who').waitFor();
  return page;
}

/** Waits until an address answers a program with what is wanted. */
export async function answers(path, is, words) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const { text } = await asks('GET', path, { token: facts.token, headers: { accept: 'application/json' } });
    const value = JSON.parse(text);
    if (is(value)) return value;
    holds(Date.now() < end, `${path}: ${words}: ${text}`);
  }
}

/** Fills the log with every kind of thread: answered, with children, paused, held, asking a person, dead, refused. */
export async function seeds() {
  const answered = await sends('echo', 'hello');
  const children = "[[spawn(say('echo', 'one'), 'first-child'), spawn(say('echo', 'two'))], [wait('all')], [said('both are done')]]";
  const parent = await sends('boss', children);
  const thought = await sends('boss', "[lambda turn: (thinks(turn, 'I think so'), [note('a thought')])[1], [said('it is over')]]");
  const asked = "[[person('Release this plan?', 'go', 'revise', 'stop', shows=[(1, 'the plan')])], everything]";
  const question = await sends('boss', asked, { wait: false });
  const agent = await asksSage('What do you see?');
  const held = await sends('vault', 'hold this', { wait: false });
  const paused = await sends('boss', "[[person('Later?', 'yes')], everything]", { wait: false });
  const dead = await sends('crash', 'die');
  const refused = await asks('POST', '/v1/messages', {
    token: facts.token,
    body: '<say xmlns="https://xml-pipeline.org/ns/echo/v1"><txt>wrong</txt></say>',
  });
  same(refused.status, 422, refused.text);
  await answers('/v1/approvals', ({ approvals }) => approvals.length === 3, 'three wait for a person');
  same((await asks('POST', `/v1/threads/${paused.thread}/pause`, { token: facts.token })).status, 200, 'it is paused');
  return { answered, parent, thought, question, agent, held, paused, dead };
}

/** The address with every id and number replaced, so that pages of one kind are one. */
export const kindOf = (path) =>
  path
    .replace(/sess-[^/?&=@]+/g, 'ID')
    .replace(/\b[0-9a-f]{64}\b/g, 'HASH')
    .replace(/=[^&]*/g, '=')
    .replace(/\/sys\b/, '/ID')
    .replace(/\/\d+\b/g, '/N')
    .replace(/\/a\d+\b/g, '/A');

/** Follows the links of all pages, a few of each kind. Returns an address of each page that was found. */
export async function crawl(page, first, each = 2) {
  const waiting = [...first];
  const counted = new Map();
  const found = [];
  while (waiting.length > 0) {
    const path = waiting.shift();
    const kind = kindOf(path);
    const count = counted.get(kind) ?? 0;
    if (found.includes(path) || (count >= each && !first.includes(path))) continue;
    counted.set(kind, count + 1);
    const answer = await page.goto(new URL(path, facts.address).href);
    same(answer.status(), 200, path);
    found.push(path);
    const links = await page.locator('a[href]').evaluateAll((all) => all.map((a) => [a.protocol, a.origin, a.pathname + a.search, a.download]));
    for (const [protocol, origin, next, download] of links) {
      holds(protocol === 'http:' && origin === facts.address, `${path} leads to ${protocol} ${origin}`);
      if (!download && !/[/]bytes$|[.]svg([?]|$)/.test(next)) waiting.push(next);
    }
  }
  return found;
}
