// On a phone, behind an nginx with TLS: a person signs in once, opens a link that another site has, and approves,
// also after the organism was killed. The new tab has no secret, and its cookie makes the change; the form of the other site does not.

import { createServer } from 'node:http';
import { answers, sends, starts } from './house.mjs';
import { does, facts, holds, judge, same, story, text, until, visit } from './stage.mjs';

const PHONE = { width: 390, height: 844, ignoreHTTPSErrors: true };

/** Sends a message that waits for a person. Returns its thread. */
async function waits(words, id) {
  const { thread } = await sends('vault', words, { wait: false });
  await answers('/v1/approvals', ({ approvals }) => approvals.some((one) => one.id === id), `${id} waits`);
  return thread;
}

/** Opens the link of the other page, and approves the request that it leads to. */
async function approves(context, other, id) {
  const opens = context.waitForEvent('page');
  await other.getByRole('link', { name: id }).click();
  const tab = await opens;
  // Only with its style a page hides what is not needed.
  await tab.waitForLoadState('load');
  await tab.locator(`#${id}`).waitFor();
  same(await tab.evaluate(() => sessionStorage.getItem('secret')), null, 'the tab has no secret');
  same(await tab.getByLabel('Your token').filter({ visible: true }).count(), 0, 'it asks for no token');
  await judge(tab, `a request for ${id}`);
  await tab.getByRole('button', { name: 'Approve', exact: true }).click();
  await tab.getByText(`${id} is decided: approved`).waitFor();
  await tab.close();
}

await story(async (stage) => {
  const thread = await waits('the release', 'a1');
  const other = createServer((_, response) => {
    const links = ['a1', 'a2'].map((id) => `<p><a target="_blank" href="${facts.public}/approvals?one=${id}">${id}</a></p>`);
    const form = `<form method="post" action="${facts.public}/t/${thread}/cancel"><button>win</button></form>`;
    response.setHeader('content-type', 'text/html');
    response.end(`<!doctype html><title>chat</title>${links.join('')}${form}`);
  });
  await new Promise((listens) => other.listen(0, '127.0.0.1', listens));
  const context = await stage.context(PHONE);
  try {
    const page = await context.newPage();
    stage.expects(/status of 40[13]|favicon/);
    same((await page.goto(`${facts.public}/approvals`)).status(), 401, 'nobody is signed in');
    await judge(page, 'signing in at the public address');
    await page.getByLabel('Code or token').fill(facts.tokens.carol);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('.who').waitFor();
    same(new URL(page.url()).pathname, '/approvals', 'signing in leads to the page that was asked for');
    const [cookie, ...more] = await context.cookies();
    same(more, [], 'one cookie');
    const { name, secure, httpOnly, sameSite, path, domain } = cookie;
    same([name, secure, httpOnly, sameSite, path, domain], ['__Host-systole', true, true, 'Lax', '/', 'localhost'], 'the cookie');
    await until(page, () => document.querySelector('[data-state]')?.textContent === 'live', 'the page follows the log');

    const chat = await context.newPage();
    const elsewhere = `http://127.0.0.1:${other.address().port}/`;
    await chat.goto(elsewhere);
    const [forged] = await Promise.all([
      chat.waitForResponse((response) => response.url().includes('/cancel')),
      chat.getByRole('button', { name: 'win' }).click(),
    ]);
    same(forged.status(), 403, 'the form of another site');
    await chat.waitForURL(/\/cancel$/);
    await chat.goto(elsewhere);
    await approves(context, chat, 'a1');
    await answers(`/t/${thread}`, ({ life }) => life !== 'working', 'what was approved has happened');

    // The organism is killed and started again: the phone is still signed in.
    stage.expects(/Failed to load resource/);
    await does('kill');
    await starts();
    await waits('the next release', 'a2');
    same((await page.goto(`${facts.public}/approvals`)).status(), 200, 'it is still signed in');
    await approves(context, chat, 'a2');

    // A list on the phone, and the page that says who is signed in.
    await page.goto(`${facts.public}/threads`);
    await judge(page, 'threads at the public address');
    await page.goto(`${facts.public}/session`);
    holds((await text(page, 'main')).includes('Its cookie allows reading and changes'), await text(page, 'main'));
    await judge(page, 'the session at the public address');
  } finally {
    other.close();
  }

  // At the address that the door listens on nothing is different.
  const local = await stage.context();
  const near = await local.newPage();
  same(await visit(near, '/approvals'), 401, 'the cookie is for the public address alone');
  stage.clean();
});
