// What calls say is on the page of their thread while they say it, as text: once, also when the page refreshes, with the
// words of the last attempt alone, and gone when the reply is on record. Durations go on without the server, also where
// the clock of the browser is wrong.

import { asks, sends, signedIn } from './house.mjs';
import { does, facts, holds, judge, same, story, until, visit } from './stage.mjs';

const HOSTILE = '</pre><img id=hostile src=x onerror=hostile()><script id=hostile>hostile()</script> \u202Eturned';
const SHOWN = HOSTILE.replace('\u202E', '\\u{202e}');
/** The first attempt says something hostile and dies; the second goes on from one file to the next. */
const PLAN = `[lambda turn: (progress(turn, 'first line'), progress(turn, ${JSON.stringify(HOSTILE)}), until('die'), sys.exit('gone'))[0]
  if not os.path.exists('die') else (progress(turn, 'of the second'), until('more'), progress(turn, 'and more'), until('end'), [said('the answer')])[-1]]`;
const words = (page) => page.locator('.live-words pre').allTextContents();
const says = (page, wanted) =>
  until(page, (all) => {
    const found = Array.from(document.querySelectorAll('.live-words:not([hidden]) pre'), (one) => one.textContent);
    return JSON.stringify(found) === JSON.stringify(all);
  }, `it says ${JSON.stringify(wanted)}`, wanted);
const clock = (page) => page.locator('.speaking [data-since]').first().textContent();

await story(async (stage) => {
  const { thread } = await sends('boss', PLAN, { token: facts.tokens.alice, wait: false });
  const context = await stage.context();
  // A day ahead of the server.
  await context.addInitScript(() => { const now = Date.now; Date.now = () => now() + 86_400_000; });
  const page = await signedIn(context);
  const asked = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await visit(page, `/t/${thread}`);
  await says(page, [`first line\n${SHOWN}`]);
  same(await page.locator('#hostile').count(), 0, 'words are text');
  await judge(page, 'the page of a call that speaks');
  await visit(page, `/t/${thread}`);
  await says(page, [`first line\n${SHOWN}`]);

  // A page without scripts shows what was said when it was made, and a client sees its own threads.
  const plain = await signedIn(await stage.context({ scripts: false }));
  await visit(plain, `/t/${thread}`);
  same(await words(plain), [`first line\n${SHOWN}`], 'without scripts');
  const alice = await signedIn(await stage.context({ width: 390 }), 'alice');
  await visit(alice, `/t/${thread}`);
  await says(alice, [`first line\n${SHOWN}`]);
  await judge(alice, 'the same on a phone');
  await page.bringToFront();

  // The durations go on, and nothing is asked for them.
  const quiet = asked.length;
  const before = await clock(page);
  await until(page, (was) => document.querySelector('.speaking [data-since]').textContent !== was, 'the clock runs', before);
  const shown = await clock(page);
  await until(page, (was) => document.querySelector('.speaking [data-since]').textContent !== was, 'it goes on', shown);
  holds(!/[dh]/.test(await clock(page)), `it goes by the server's time: ${await clock(page)}`);
  same(asked.slice(quiet), [], 'a clock asks for nothing');

  // Another thread moves the log: the page refreshes, and the words stay, once.
  const kept = await page.locator('.live-words pre').elementHandle();
  const end = await page.evaluate(() => document.querySelector('[data-moment]').max);
  await sends('echo', 'something else');
  await until(page, (was) => Number(document.querySelector('[data-moment]').max) > Number(was), 'the page hears of it', end);
  await until(page, () => !document.hidden, 'it is seen');
  same(await words(page), [`first line\n${SHOWN}`], 'a refresh leaves them as they are');
  holds(await kept.evaluate((one) => one.isConnected), 'in their place');

  // The attempt dies: the words of the next one take their place.
  await does('touch', { name: 'die' });
  await says(page, ['of the second']);
  holds((await page.locator('.speaking').innerText()).includes('attempt 2'), 'the attempt is named');
  await does('touch', { name: 'more' });
  await says(page, ['of the second\nand more']);
  await does('touch', { name: 'end' });
  await until(page, () => document.querySelector('.row.good') && document.querySelector('.speaking').hidden, 'the record takes their place');
  same(await words(page), [], 'nothing is said any more');
  const later = await asks('GET', `/t/${thread}/words`, { token: facts.token, headers: { accept: 'application/json' } });
  same(JSON.parse(later.text).calls, [], later.text);
  const streams = asked.filter((path) => path === '/live' || path.startsWith('/v1/'));
  holds(streams.length > 0 && streams.every((path) => path === '/live'), `one stream for everything: ${streams}`);
  same(asked.filter((path) => path === '/live').length, 2, 'one for each time that the page was opened');
  stage.clean();
});
