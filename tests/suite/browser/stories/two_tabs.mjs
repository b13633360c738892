// Two people, and two tabs of one person, decide the same request at the same moment. One decision counts, the other
// is told that it came too late, and what was decided happens once.

import { answers, sends, signedIn, systole } from './house.mjs';
import { facts, holds, judge, same, story, text, until, visit } from './stage.mjs';

/** Clicks a button on each page at once, and returns the codes of the answers. */
async function decideAtOnce(pages) {
  const ready = await Promise.all(
    pages.map(async ([page, id, button, note]) => {
      await visit(page, `/approvals?one=${id}`);
      await until(page, () => document.documentElement.classList.contains('has-secret'), 'the tab has its secret');
      const card = page.locator(`#${id}`);
      if (note) await card.getByRole('textbox').first().fill(note);
      return [page, card.getByRole('button', { name: button })];
    }),
  );
  return await Promise.all(
    ready.map(async ([page, button]) => {
      const decided = page.waitForResponse((answer) => answer.request().method() === 'POST');
      await button.click();
      const status = (await decided).status();
      await page.waitForLoadState();
      return status;
    }),
  );
}

await story(async (stage) => {
  const [first, second] = [await stage.context(), await stage.context()];
  // Pages that followed the log would take a request away before the second person can click.
  for (const context of [first, second]) await context.route('**/live', (route) => route.abort());
  stage.expects(/ERR_FAILED.*\/live/);
  const mine = await signedIn(first);
  const other = await first.newPage();
  const hers = await signedIn(second, 'carol');
  // The late one is told so, which is an answer of 409 or 422.
  stage.expects(/status of 4(09|22)/);
  let number = 0;
  for (const pair of [[mine, hers], [mine, other], [hers, mine]]) {
    number += 1;
    const id = `a${number}`;
    const { thread } = await sends('vault', `decide ${id}`, { wait: false });
    await answers('/v1/approvals', ({ approvals }) => approvals.some((one) => one.id === id), `${id} waits`);
    const [one, two] = pair;
    const codes = await decideAtOnce([[one, id, 'Approve'], [two, id, 'Reject', 'not now']]);
    const winners = codes.filter((code) => code === 303).length;
    same(winners, 1, `${id}: one decision counts: ${codes}`);
    const late = codes[0] === 303 ? two : one;
    holds(/decided/i.test(await text(late, 'main')), `${id}: the late one is told: ${await text(late, 'main')}`);
    await judge(late, `too late for ${id}`);
    const approved = codes[0] === 303;
    await answers('/v1/approvals', ({ approvals }) => approvals.length === 0, `${id} waits no more`);
    // The thread rests when the answer or the rejection has come.
    await answers(`/t/${thread}`, ({ life }) => life !== 'working', `${id} has its outcome`);
    const log = await systole('log', thread);
    const heard = log.split(`vault heard decide ${id}`).length - 1;
    same(heard, approved ? 1 : 0, `${id}: it happens as often as it was approved\n${log}`);
    const by = (approved ? one : two) === hers ? 'carol' : 'operator';
    const decisions = log.split('\n').filter((line) => /approved|rejected/.test(line) && line.includes(id));
    holds(decisions.some((line) => line.includes(by)), `${id}: ${by} decided\n${log}`);
  }
  await visit(mine, '/approvals');
  const decided = await text(mine, 'main');
  for (const id of ['a1', 'a2', 'a3']) holds(decided.includes(id), `${id} is among what was decided: ${decided}`);

  // Who may read and not decide sees the request, and no button.
  await sends('vault', 'for others', { wait: false });
  await answers('/v1/approvals', ({ approvals }) => approvals.length === 1, 'one waits');
  const readers = await stage.context();
  const reader = await signedIn(readers, 'bob');
  await visit(reader, '/approvals');
  holds((await text(reader, '#a4')).includes('for others'), 'a reader sees it');
  same(await reader.locator('#a4').getByRole('button', { name: 'Approve' }).count(), 0, 'a reader has no button');
  holds(facts.tokens.bob, 'bob has a token');
  stage.clean();
});
