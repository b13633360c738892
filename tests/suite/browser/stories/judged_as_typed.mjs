// A form is judged while it is typed: the amended payload, its mistakes and its verdict are shown, and nothing is decided.

import { answers, sends, signedIn } from './house.mjs';
import { axe, holds, same, story, text, until, visit } from './stage.mjs';

const judged = (page, words) =>
  until(page, (wanted) => document.querySelector('[data-judged]')?.textContent.includes(wanted), `it is judged: ${words}`, words);

await story(async (stage) => {
  const held = await sends('vault', 'hold this', { wait: false });
  const { approvals } = await answers('/v1/approvals', (value) => value.approvals.length === 1, 'one waits');
  const context = await stage.context();
  const page = await signedIn(context);
  await visit(page, `/approvals/${approvals[0].id}/amend`);
  same((await text(page, '[data-judged]')).trim(), '', 'nothing is judged before anything is typed');
  const field = page.locator('.payload-form textarea, .payload-form input[name^="/"]').first();
  await field.fill('an amended text');
  await judged(page, 'an amended text');
  await judged(page, 'What it makes');
  same(await field.inputValue(), 'an amended text', 'the field keeps what was typed');
  // Markup in a value stays text.
  await field.fill('<b id="broken">bold</b>');
  await judged(page, '&lt;b id=');
  same(await page.locator('#broken').count(), 0, 'no markup is made');
  same(await axe(page), [], 'what is judged can be read by everyone');
  await answers('/v1/approvals', (value) => value.approvals.length === 1, 'it still waits');
  holds((await text(page, '[data-judged]')).includes('What it makes'), 'the last verdict stays');

  await visit(page, '/send?to=echo&element=say');
  const sent = page.locator('.payload-form textarea, .payload-form input[name^="/"]').first();
  await sent.fill('a text to send');
  await judged(page, 'systole send say');
  await answers(`/t/${held.thread}`, ({ state }) => state === 'waiting', 'nothing was decided');
  stage.clean();
});
