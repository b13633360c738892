// A page follows its thread while the organism is killed and started again: every record is one row, in order.

import { asks, sends, signedIn, starts, systole } from './house.mjs';
import { does, facts, holds, judge, same, story, until, visit } from './stage.mjs';

/** The numbers and positions of all rows, in the order of the page. */
const rows = (page) => page.locator('.row').evaluateAll((all) => all.map((row) => [row.id, row.dataset.position]));

/** What the log says: one row for each record. */
async function recorded(thread) {
  const printed = await systole('log', thread, '--json');
  const records = printed.trim().split('\n').map((line) => JSON.parse(line));
  return records.map(({ seq, position }) => [`r${seq}`, String(position)]);
}

/** Waits until the page has all rows of the log, then compares them. What is still being written is waited for. */
async function complete(page, thread, words) {
  let [wanted, found, before] = [await recorded(thread), [], 0];
  while (wanted.length !== before) {
    before = wanted.length;
    const [last] = wanted.at(-1);
    await until(page, (id) => document.getElementById(id), `${words}: row ${last}`, last);
    found = await rows(page);
    wanted = await recorded(thread);
  }
  same(found, wanted, words);
}

/** Sends texts into a thread, until the organism is gone. Returns how many it took. */
async function sendsUntilGone(thread, count) {
  let taken = 0;
  for (let n = 0; n < count; n += 1) {
    try {
      const { status } = await sends('echo', `text ${n}`, { thread, wait: false });
      if (status !== 202) break;
      taken += 1;
    } catch {
      break;
    }
  }
  return taken;
}

await story(async (stage) => {
  const { thread } = await sends('echo', 'the first');
  const context = await stage.context();
  const page = await signedIn(context);
  await visit(page, `/t/${thread}`);
  const follower = await context.newPage();
  await visit(follower, `/t/${thread}?show=key`);
  await page.bringToFront();
  for (let n = 0; n < 5; n += 1) await sends('echo', `live ${n}`, { thread });
  await complete(page, thread, 'rows come while it runs');
  // What stands beside the rows grows with them, and a day is said once.
  const beside = () => {
    const rows = Array.from(document.querySelectorAll('.row'));
    const range = document.querySelector('[data-moment]');
    const end = Number(rows.at(-1).dataset.position);
    return Number(document.querySelector('#records').textContent) === rows.length && range.value === range.max && Number(range.max) >= end;
  };
  await until(page, beside, 'the count and the slider follow');
  const days = await page.locator('.row .day').allInnerTexts();
  same(days, [...new Set(days)], 'each day is said once');
  await complete(await reloaded(page), thread, 'a fresh page has the same rows');

  stage.clean();
  stage.expects(/Failed to load resource/);
  for (let life = 0; life < 3; life += 1) {
    // Killed while records are written and the page asks for rows.
    const sending = sendsUntilGone(thread, 10_000);
    await until(page, (least) => document.querySelectorAll('.row').length > least, 'it follows', (await rows(page)).length + 4);
    await does('kill');
    holds((await sending) > 0, 'nothing was taken before the kill');
    await until(page, () => document.querySelector('[data-state]')?.textContent === 'not connected', 'it says so');
    await starts();
    for (let n = 0; n < 3; n += 1) await sends('echo', `life ${life} ${n}`, { thread });
    await complete(page, thread, `after kill ${life}`);
    await until(page, () => document.querySelector('[data-state]')?.textContent === 'live', 'it is live again');
  }
  await judge(page, 'followed');
  const seen = await rows(page);
  await visit(page, `/t/${thread}`);
  same(await rows(page), seen, 'a fresh page has the same rows in the same order');

  // As it was: the rows up to a position, and no list that knows more.
  const [[, middle]] = seen.slice(Math.floor(seen.length / 2));
  await visit(page, `/t/${thread}?at=${middle}`);
  same(await rows(page), seen.filter(([, position]) => Number(position) <= Number(middle)), 'at a position');
  const { thread: later } = await sends('echo', 'a thread that came later');
  await visit(page, `/threads?at=${middle}`);
  const listed = await page.locator('body').innerText();
  holds(listed.includes(thread) && !listed.includes(later), `the threads at ${middle}: ${listed}`);

  // Without scripts a page is what it was when it was asked for.
  const plain = await stage.context({ scripts: false });
  const still = await signedIn(plain);
  await visit(still, `/t/${thread}`);
  same(await rows(still), seen, 'without scripts');
  same((await asks('GET', `/t/${thread}`, { token: facts.token, headers: { accept: 'application/json' } })).status, 200, 'as JSON');
  stage.clean();
});

async function reloaded(page) {
  await page.reload();
  return page;
}
