// Pages of other sites, and other names that lead to this machine, neither read nor change anything.

import { createServer } from 'node:http';
import { asks, cookieName, sends, signedIn } from './house.mjs';
import { facts, holds, same, story, text, visit } from './stage.mjs';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

await story(async (stage) => {
  const { thread } = await sends('echo', 'the secret word');
  const held = await sends('vault', 'held', { wait: false });
  const context = await stage.context();
  const page = await signedIn(context);
  const [cookie] = await context.cookies();
  const cookies = { cookie: `${cookieName()}=${cookie.value}` };
  const port = new URL(facts.address).port;

  // A foreign name in Host, as after DNS rebinding: with the cookie, with the token, and on what needs neither.
  for (const host of ['evil.example', `evil.example:${port}`, `127.0.0.1.evil.example:${port}`, '127.0.0.1:1', '127.0.0.1', '0.0.0.0']) {
    for (const [path, token] of [['/', null], [`/t/${thread}`, facts.token], ['/assets/console.css', null], ['/session', null]]) {
      const answer = await asks('GET', path, { headers: { ...cookies, host, accept: 'text/html' }, token });
      same(answer.status, 403, `${path} for ${host}`);
      holds(!answer.text.includes('secret word'), answer.text);
    }
    const signs = { ...FORM, host, accept: 'text/html' };
    same((await asks('POST', '/session', { headers: signs, body: `code=${facts.token}` })).status, 403, `signing in at ${host}`);
  }
  for (const host of [`localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`]) {
    same((await asks('GET', '/', { headers: { ...cookies, host, accept: 'text/html' } })).status, 200, host);
  }

  // A change that another page sends. The secret is right, so only the origin is wrong.
  const secret = await page.evaluate(() => JSON.parse(sessionStorage.getItem('secret')).secret);
  for (const from of [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: `http://127.0.0.1:1` },
    { origin: `https://evil.example:${port}` },
    { origin: facts.address, 'sec-fetch-site': 'cross-site' },
    { origin: facts.address, 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site' },
    {},
  ]) {
    const headers = { ...cookies, ...FORM, ...from, 'systole-secret': secret };
    const answer = await asks('POST', `/t/${held.thread}/pause`, { headers, body: `secret=${secret}` });
    same(answer.status, 403, `a change from ${JSON.stringify(from)}`);
  }
  const ours = { ...cookies, ...FORM, origin: facts.address, 'sec-fetch-site': 'same-origin', 'systole-secret': secret };
  same((await asks('POST', `/t/${held.thread}/pause`, { headers: ours, body: 'note=ours' })).status, 200, 'from our page');

  // A real page of another site, in the same browser: it can send, and it can neither read nor embed.
  const evil = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<!doctype html><title>evil</title><form method="post" action="${facts.address}/t/${held.thread}/resume">
      <input name="secret" value="${secret}"><button>win</button></form><iframe src="${facts.address}/"></iframe>`);
  });
  await new Promise((listens) => evil.listen(0, '127.0.0.1', listens));
  stage.clean();
  // The browser tells of everything that it refuses here, in words of its own.
  stage.expects(/evil|Failed to load resource|CORS policy|frame-ancestors|X-Frame-Options|Refused to|Framing/);
  try {
    for (const name of ['127.0.0.1', 'localhost']) {
      const other = await context.newPage();
      await other.goto(`http://${name}:${evil.address().port}/`);
      const read = await other.evaluate(async (address) => {
        try {
          return await (await fetch(`${address}/`, { credentials: 'include' })).text();
        } catch (error) {
          return String(error);
        }
      }, facts.address);
      holds(/TypeError/.test(read), `a foreign page reads: ${read}`);
      const [, frame] = other.frames();
      const framed = frame ? await frame.evaluate(() => document.body?.innerText ?? '').catch(() => '') : '';
      holds(!framed.includes('Waits for you'), `a foreign page embeds ours: ${framed}`);
      const [answer] = await Promise.all([
        other.waitForResponse((response) => response.url().includes('/resume')),
        other.getByRole('button', { name: 'win' }).click(),
      ]);
      same(answer.status(), 403, `a form of ${name}`);
      await other.close();
    }
  } finally {
    evil.close();
  }
  await visit(page, `/t/${held.thread}`);
  holds((await text(page, 'h1')).includes('paused'), 'it is still paused');

  // Every answer carries the policy, and no page may be kept or embedded.
  for (const path of ['/', '/threads', `/t/${thread}`, '/session', '/no/such/page']) {
    const { headers } = await asks('GET', path, { headers: { ...cookies, accept: 'text/html' } });
    const policy = headers['content-security-policy'] ?? '';
    for (const part of ["default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]) {
      holds(policy.includes(part), `${path}: ${policy}`);
    }
    same([headers['x-content-type-options'], headers['cache-control']], ['nosniff', 'no-store'], path);
  }
  stage.clean();
});
