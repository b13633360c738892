// While someone else decides, the cards of a page stay where they are, so that a click meets what it was aimed at. The
// key Enter in a note decides nothing.

import { answers, asks, sends, signedIn } from './house.mjs';
import { facts, holds, same, story, text, until, visit } from './stage.mjs';

const waits = (count) => answers('/v1/approvals', ({ approvals }) => approvals.length === count, `${count} wait`);

await story(async (stage) => {
  for (const id of ['a1', 'a2', 'a3']) {
    await sends('vault', `decide ${id}`, { wait: false });
    await answers('/v1/approvals', ({ approvals }) => approvals.some((one) => one.id === id), `${id} waits`);
  }
  const page = await signedIn(await stage.context());
  await visit(page, '/approvals');
  const posted = [];
  page.on('request', (request) => request.method() === 'POST' && posted.push(request.url()));
  const note = page.locator('#a1').getByRole('textbox').first();
  await note.fill('never');
  await note.press('Enter');
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  same(posted, [], 'Enter in a note sends nothing');
  await waits(3);
  await note.blur();

  const aim = page.locator('#a3').getByRole('button', { name: 'Approve' });
  const before = await aim.boundingBox();
  const { approvals } = await waits(3);
  const second = approvals.find((one) => one.id === 'a2');
  const body = JSON.stringify({ outcome: 'rejected', note: 'no', hash: second.hash });
  const headers = { 'content-type': 'application/json' };
  const ruled = await asks('POST', '/v1/approvals/a2', { token: facts.tokens.carol, headers, body });
  same(ruled.status, 200, ruled.text);
  await until(page, () => /no longer waits/.test(document.querySelector('#a2 h3').textContent), 'a2 is marked');
  same(await aim.boundingBox(), before, 'the button stays where it was');
  same(await page.locator('#a2').getByRole('button', { name: 'Approve' }).isEnabled(), false, 'a2 cannot be decided');

  await sends('vault', 'decide a4', { wait: false });
  await until(page, () => document.querySelector('#a4'), 'a new request comes');
  same(await aim.boundingBox(), before, 'what is new comes below');
  await page.locator('#a4').getByRole('button', { name: 'Approve' }).click();
  await page.waitForURL(/done=a4/);
  holds((await text(page, 'main')).includes('a4 is decided: approved by operator'), await text(page, 'main'));
  stage.clean();
});
