// A person sends a report with a picture from the form of the console: a bad file is shown at its field, and nothing that was
// filled in is lost; the good one reaches the model.

import { answers, signedIn } from './house.mjs';
import { axe, facts, holds, same, story, text, visit } from './stage.mjs';

const FORM = '/send?to=seer&element=report';

/** Fills the form in, and sends it. */
async function sends(page, file, note) {
  await page.locator('[name="/report/note"]').fill(note);
  if (file) await page.locator('input[type=file][name="/report/photo"]').setInputFiles(file);
  await page.locator('button.main').click();
  await page.waitForLoadState();
}

await story(async (stage) => {
  // Without scripts a page asks for the token before it judges, so this is the way with them.
  const page = await signedIn(await stage.context({ scripts: true }));
  await visit(page, FORM);
  const input = page.locator('input[type=file][name="/report/photo"]');
  same(await input.getAttribute('accept'), 'image/png,image/jpeg', 'it accepts what the schema admits');
  same(await axe(page), [], 'the form can be read by everyone');
  stage.expects(/status of 422/);
  await sends(page, null, 'no picture');
  holds((await text(page)).includes('photo: the file is missing'), await text(page));
  for (const [file, words] of [
    [facts.zip, 'the first bytes of the file are those of no known type'],
    [facts.empty, 'the file is empty'],
    [facts.large, 'larger than 8388608 bytes'],
    [facts.pdf, 'image/png'],
  ]) {
    await sends(page, file, 'Look & see');
    holds((await text(page)).includes(words), `${file}: ${words}: ${await text(page)}`);
    same(await page.locator('[name="/report/note"]').inputValue(), 'Look & see', 'what was filled in stays');
  }
  same(await axe(page), [], 'the mistakes can be read by everyone');
  // What is shown first is sent afterwards, without choosing the file again.
  await page.locator('input[type=file][name="/report/photo"]').setInputFiles(facts.png);
  await page.getByRole('button', { name: 'Show' }).last().click();
  await page.waitForLoadState();
  holds((await text(page, '[data-judged]')).includes('sha256='), await text(page));
  holds((await text(page)).includes('image/png'), 'the form says which file it has');
  await page.locator('button.main').click();
  await page.waitForURL(/\/t\//);
  const thread = page.url().split('/t/')[1].split(/[?#]/)[0];
  await answers(`/v1/threads/${thread}`, ({ state }) => state === 'answered', 'the model has answered');
  stage.clean();
});
