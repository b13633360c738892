// The pages of a large organism: ten thousand threads, ten thousand records in one of them, two hundred listeners, a body
// of nearly a mebibyte, a tree that is sixteen deep. Everything is there, or a visible word says how to get the rest.
// Sizes and times are printed, never judged.

import { crawl, kindOf, signedIn } from './house.mjs';
import { WIDTHS, axe, facts, holds, overflow, picture, same, story, text } from './stage.mjs';

const figures = [];

/** Goes to a page, and notes its size, the time of the server and that of the page itself. */
async function measured(page, path) {
  const answer = await page.goto(new URL(path, facts.address).href, { waitUntil: 'load' });
  same(answer.status(), 200, path);
  const found = await page.evaluate(() => {
    const [one] = performance.getEntriesByType('navigation');
    const paint = performance.getEntriesByName('first-contentful-paint')[0];
    return {
      bytes: one.decodedBodySize,
      server: one.responseStart - one.requestStart,
      own: one.loadEventEnd - one.responseStart,
      paint: paint ? paint.startTime - one.responseStart : null,
    };
  });
  figures.push([path, found]);
  return found;
}

const count = (page, selector) => page.locator(selector).count();

/** Whether the page has a text somewhere, folded or not: what the browser's own search finds. */
const has = (page, words) => page.evaluate((wanted) => document.body.textContent.includes(wanted), words);

const name = (path) => kindOf(path).replaceAll(/[^A-Za-z0-9]+/g, '-').replace(/^-|-$/g, '') || 'first';

await story(async (stage) => {
  const faults = [];
  const context = await stage.context();
  const page = await signedIn(context, 'operator');
  const middle = Math.floor(facts.end / 2);

  // The list of threads: parts of a hundred, from the newest to the oldest of all.
  await measured(page, '/threads');
  same(await count(page, 'tbody > tr'), 100, 'rows of a part');
  const next = page.getByRole('link', { name: 'Older threads' });
  holds(await next.isVisible(), 'a link leads to the older threads');
  await measured(page, new URL(await next.getAttribute('href'), facts.address).pathname + new URL(await next.getAttribute('href'), facts.address).search);
  same(await count(page, 'tbody > tr'), 100, 'rows of the next part');
  await measured(page, `/threads?q=${facts.newest}`);
  same(await count(page, 'tbody > tr'), 1, 'one of the newest is found by its id');
  for (const filter of ['state=working', 'state=waiting', 'state=answered', 'state=resting', 'state=ended', 'state=paused', 'listener=lead-2', 'q=walk']) {
    await measured(page, `/threads?${filter}`);
    const rows = await count(page, 'tbody > tr');
    const more = await count(page, 'main a:has-text("Older threads")');
    const none = await count(page, '.empty');
    holds(rows > 0 || more > 0 || none > 0, `${filter}: ${rows} rows and no word about it`);
  }
  // A thread that is older than thousands of others is found at once.
  await page.goto(new URL('/threads?q=walk', facts.address).href);
  holds((await count(page, 'tbody > tr')) > 0, 'the long threads are found');

  // The long thread: every record is a row, in chunks.
  const long = `/t/${facts.long}`;
  await measured(page, `${long}?show=all`);
  same(await count(page, '.row'), 10_000, 'the newest ten thousand records of the long thread are rows');
  const earlier = page.getByRole('link', { name: 'Earlier records' });
  holds(await earlier.isVisible(), 'a link leads to the earlier records');
  same(await count(page, '.chunk'), 50, 'chunks of rows');
  holds(await has(page, 'message 17 of 1001'), 'the browser finds an early message');
  holds(await has(page, 'more entries'), 'the tree says what it leaves out');
  await measured(page, `${long}?show=key`);
  holds((await count(page, '.row')) > 0, 'the important records are there');
  same(await page.locator('.row').first().evaluate((row) => getComputedStyle(row, '::before').content), 'none', 'a row begins with its words');

  // One body of a mebibyte: the list has its beginning, the record all of it.
  await measured(page, `/t/${facts.body}`);
  holds(await has(page, 'The whole record'), 'the list leads to the whole body');
  await measured(page, `/t/${facts.body}/1`);
  holds(await has(page, `Only the first 262144 of ${facts.bytes} bytes are shown`), 'the page says what it leaves out');
  holds(await page.getByRole('link', { name: 'Download' }).isVisible(), 'the whole body can be had');

  // The tree, and the thread at its end.
  await measured(page, `/t/${facts.deep}`);
  holds(await has(page, facts.deepest), 'the tree reaches its end');
  await measured(page, `/t/${facts.deepest}`);

  // The map has every listener.
  await measured(page, '/map');
  same(await count(page, 'tbody > tr'), facts.listeners, 'every listener has a row');
  await measured(page, '/map.svg');
  same(await count(page, 'text.name'), facts.listeners + 1, 'every listener has a box');

  await measured(page, '/approvals');
  const waits = await text(page, 'main');
  holds(waits.includes(`${facts.held}`), 'the page says how many wait');
  await measured(page, '/');
  holds(await has(page, 'more: systole approve'), 'the first page says how many more wait');

  for (const path of ['/find', '/find?q=message', '/refused', '/cost', '/config', '/proof', '/send', `${long}/time`, `${long}/5000`, `/diff/${facts.long}/${facts.other}`]) {
    await measured(page, path);
  }

  // As it was in the middle.
  for (const path of ['/', '/threads', '/threads?state=working', '/threads?q=walk', `${long}?show=all`, `${long}/5`, `/diff/${facts.long}/${facts.other}`, '/map', '/map.svg', '/approvals', '/refused', '/cost', '/find?q=message', `${long}/time`]) {
    await measured(page, `${path}${path.includes('?') ? '&' : '?'}at=${middle}`);
  }
  await page.goto(new URL(`${long}?show=all&at=${middle}`, facts.address).href);
  same(await count(page, '.row'), 10_000, 'the long thread as it was then');

  // Every kind of page that a link leads to, in a wide window and in the smallest.
  const found = await crawl(page, ['/', '/threads', long, `/t/${facts.deep}`, `/t/${facts.body}`], 1);
  const judged = new Set(['/', '/threads', '/t/ID', '/map', '/approvals']);
  for (const path of found) {
    await page.goto(new URL(path, facts.address).href);
    for (const width of [WIDTHS[0], WIDTHS[2]]) {
      await page.setViewportSize({ width, height: 900 });
      const wide = await overflow(page);
      if (wide) faults.push(`${path}, ${width}: ${wide}`);
      if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/large-${name(path)}-${width}.png` });
    }
    await page.setViewportSize({ width: WIDTHS[0], height: 900 });
    if (judged.delete(kindOf(path))) for (const words of await axe(page)) faults.push(`${path}: ${words}`);
  }
  same(faults, [], `pages with faults:\n${faults.join('\n')}\n`);
  stage.clean();

  const ms = (value) => (value === null ? '' : value.toFixed(0)).padStart(7);
  console.log(`${'bytes'.padStart(9)} ${'server'.padStart(7)} ${'own'.padStart(7)} ${'paint'.padStart(7)} ms`);
  for (const [path, { bytes: size, server, own, paint }] of figures) {
    console.log(`${String(size).padStart(9)} ${ms(server)} ${ms(own)} ${ms(paint)}  ${path.replaceAll(/sess-[0-9a-f.deper]+/g, 'ID')}`);
  }
});
