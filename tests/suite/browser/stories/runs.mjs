// The page of one run while it works and after its end: the steps at its top, on a desk, in dark colours and on a phone.
// It tells the test what they say, and takes the pictures if the test names a folder for them.

import { join } from 'node:path';
import { answers, signedIn, systole } from './house.mjs';
import { does, facts, holds, same, story, visit } from './stage.mjs';
import { steady } from './steady.mjs';

const LOOKS = [
  { end: '', width: 1280, height: 620, colorScheme: 'light' },
  { end: '-dark', width: 1280, height: 620, colorScheme: 'dark' },
  { end: '-phone', width: 390, height: 780, colorScheme: 'light' },
];

await story(async (stage) => {
  const { name, sends, decides } = facts.run;
  await systole('send', '--no-wait', '--', ...sends);
  if (decides) await answers('/v1/approvals', ({ approvals }) => approvals.length === 1, 'a person is asked');
  const { threads } = await answers('/v1/threads', ({ threads }) => threads.length > 0, 'it is there');
  const path = `/t/${threads[0].thread}`;
  const still = await signedIn(await stage.context({ scripts: false }));
  const page = facts.pictures && (await signedIn(await stage.context()));
  const parts = [];
  const look = async (state, path) => {
    same(await visit(still, path), 200, path);
    const run = still.locator('#run');
    holds((await run.locator('li').count()) > 2, `${path} has steps`);
    parts.push(`# ${name}, ${state}\n${steady(await run.innerText())}`);
    for (const { end, width, height, colorScheme } of page ? LOOKS : []) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      await visit(page, path);
      await page.locator('#run li').first().waitFor();
      await page.screenshot({ path: join(facts.pictures, `run-${name}-${state}${end}.png`) });
    }
  };
  if (decides) {
    same(await visit(still, '/'), 200, 'the first page');
    holds((await still.locator('main').innerText()).includes(`systole ${decides[0]} a1`), 'it says what waits');
    await still.getByRole('link', { name: 'Threads' }).click();
    await still.getByRole('link', { name: threads[0].thread }).first().click();
    holds(new URL(still.url()).pathname === path, `${still.url()} is the page of the run`);
    await look('running', path);
    await systole(...decides);
  }
  await answers(`/v1/threads/${threads[0].thread}`, ({ state }) => state === 'answered', 'it is answered');
  if (!decides) {
    // As it was when its last step had just begun.
    const { picture } = await answers(`/v1/threads/${threads[0].thread}/tree`, () => true, 'the tree is there');
    const [first] = (await systole('log', picture.steps.at(-1).thread, '-n', '0', '--json')).split('\n');
    await look('running', `${path}?at=${JSON.parse(first).position}`);
  }
  await look('ended', path);
  await does('compare', { text: parts.join('\n\n') });
  stage.clean();
});
