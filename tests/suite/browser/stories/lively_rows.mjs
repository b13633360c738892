// Two hundred rows come at a lively pace: each is there once and in order. How much of the time the main thread of the
// browser is busy meanwhile is printed, and no time is judged.

import { sends, signedIn } from './house.mjs';
import { same, story, until, visit } from './stage.mjs';

const MESSAGES = 100;

await story(async (stage) => {
  const { thread } = await sends('echo', 'the first');
  const page = await signedIn(await stage.context());
  await visit(page, `/t/${thread}`);
  const first = await page.locator('.row').count();
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'timeTicks' });
  const metrics = async () => {
    const all = (await session.send('Performance.getMetrics')).metrics;
    return Object.fromEntries(all.map(({ name, value }) => [name, value]));
  };
  const before = await metrics();
  for (let n = 0; n < MESSAGES; n += 1) await sends('echo', `row ${n} ${'x'.repeat(200)}`, { thread });
  await until(page, (wanted) => document.querySelectorAll('.row').length >= wanted, 'all rows come', first + 2 * MESSAGES);
  const after = await metrics();
  const rows = await page.locator('.row').evaluateAll((all) => all.map((row) => row.id));
  same(rows, Array.from({ length: first + 2 * MESSAGES }, (_, at) => `r${at + 1}`), 'each row once, in order');
  const spent = (name) => after[name] - before[name];
  const [busy, took] = [spent('TaskDuration'), spent('Timestamp')];
  console.log(`${2 * MESSAGES} rows in ${took.toFixed(1)} s: the main thread was busy for ${busy.toFixed(2)} s, ${((100 * busy) / took).toFixed(1)} % of the time`);
  console.log(`scripts ${spent('ScriptDuration').toFixed(2)} s, layout ${spent('LayoutDuration').toFixed(2)} s, styles ${spent('RecalcStyleDuration').toFixed(2)} s`);
  stage.clean();
});
