// The pictures of the documentation: three questions to the team, of which one is approved, one is rejected and one
// waits. It tells the test what each page says, and takes the pictures if the test names a folder for them.

import { join } from 'node:path';
import { answers, asks, escaped, signedIn, systole } from './house.mjs';
import { does, facts, holds, same, story, until, visit } from './stage.mjs';
import { steady } from './steady.mjs';

/** Asks the team, and waits until a person has to decide. Returns the thread. */
async function question(words, request) {
  const body = `<ask xmlns="https://xml-pipeline.org/ns/talk/v1">${escaped(words)}</ask>`;
  const answer = await asks('POST', '/v1/messages', { token: facts.token, body });
  holds(answer.status < 300, answer.text);
  await answers('/v1/approvals', ({ approvals }) => approvals.some(({ id }) => id === request), `${request} waits`);
  return JSON.parse(answer.text).thread;
}

const rests = (thread) => answers(`/v1/threads/${thread}`, ({ state }) => state === 'answered', 'it is answered');

/** What depends on how fast the machine is: which spans are too short to be seen. */
const VARYING = '.lanes, tbody .number, [aria-labelledby=path] tbody, [data-state]';

await story(async (stage) => {
  const first = await question('What makes a heart beat?', 'a1');
  await systole('approve', 'a1');
  await rests(first);
  const second = await question('What makes a heart beat at rest?', 'a2');
  await systole('reject', 'a2', '--note', 'Say which note has it.');
  await rests(second);
  await question('What makes a heart beat?', 'a3');
  const refused = `/t/${first}/6`;
  const pages = [
    { name: 'attention', path: '/', height: 660, schemes: ['light', 'dark'] },
    { name: 'thread', path: `/t/${first}?show=key`, height: 640 },
    { name: 'approvals', path: '/approvals', height: 625 },
    { name: 'refused', path: refused, height: 620 },
    { name: 'time', path: `/t/${first}/time`, height: 450 },
    { name: 'map', path: '/map', height: 760 },
  ];

  const still = await signedIn(await stage.context({ scripts: false }));
  const parts = [];
  for (const { name, path } of pages) {
    same(await visit(still, path), 200, path);
    const style = await still.locator('link[rel=stylesheet]').getAttribute('href');
    if (parts.length === 0) parts.push(`# ${style}`);
    await still.evaluate((all) => document.querySelectorAll(all).forEach((one) => one.remove()), VARYING);
    parts.push(`# ${name}\n${steady(await still.locator('body').innerText())}`);
  }
  await does('compare', { text: `${parts.join('\n\n')}\n` });
  holds(parts.find((part) => part.startsWith('# refused')).includes('payload.invalid'), 'the record is a refusal');

  if (facts.pictures) {
    const page = await signedIn(await stage.context());
    for (const { name, path, height, schemes = ['light'] } of pages) {
      await page.setViewportSize({ width: 1280, height });
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme });
        await visit(page, path);
        await until(page, () => document.querySelector('button.copy') || !document.querySelector('[data-copy]'), 'its script has run');
        const file = colorScheme === 'light' ? `${name}.png` : `${name}-${colorScheme}.png`;
        await page.screenshot({ path: join(facts.pictures, file) });
      }
    }
  }
  stage.clean();
});
