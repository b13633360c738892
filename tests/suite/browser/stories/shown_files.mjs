// Pictures of a tool and of a question in a browser: they are drawn in their bounds. What only calls itself a picture is
// a download, also if a person opens its address, and nothing in a file runs.

import { signedIn } from './house.mjs';
import { facts, holds, judge, same, story, until, visit } from './stage.mjs';

const { thread, seq, waits } = facts;

/** The pictures of a page, once each was drawn or failed. */
async function drawn(page) {
  for (const image of await page.locator('img').all()) await image.scrollIntoViewIfNeeded();
  await until(page, () => [...document.images].every((image) => image.complete), 'every picture has come');
  return await page.evaluate(() =>
    [...document.images].map(({ src, alt, naturalWidth, naturalHeight, clientWidth, clientHeight }) => {
      return { src: new URL(src).pathname, alt, naturalWidth, naturalHeight, clientWidth, clientHeight };
    }),
  );
}

const file = (number) => `/t/${thread}/${seq}/files/${number}`;

await story(async (stage) => {
  const page = await signedIn(await stage.context(), 'alice');
  for (const path of [`/t/${thread}`, `/t/${thread}/${seq}`]) {
    await visit(page, path);
    const pictures = await drawn(page);
    same(pictures.map(({ src }) => src), [file(1), file(4), file(6)], `${path}: the pictures`);
    const [small, broken, large] = pictures;
    same([small.naturalWidth, small.naturalHeight], [1, 1], `${path}: the small one`);
    same(broken.naturalWidth, 0, `${path}: what follows the first bytes of a JPEG is none`);
    same([large.naturalWidth, large.naturalHeight], [3000, 4000], `${path}: the large one`);
    holds(large.clientHeight > 100 && large.clientHeight <= 256, `${path}: ${large.clientHeight} pixels high`);
    holds(Math.abs(large.clientWidth * 4 - large.clientHeight * 3) < 16, `${path}: ${large.clientWidth} pixels wide`);
    same(await page.locator('main :is(svg, iframe, object, embed)').count(), 0, `${path}: nothing else is drawn`);
    await judge(page, `files of ${path}`);
  }
  await visit(page, `/t/${thread}/${seq}`);
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: /^file 5: / }).click(),
  ]);
  same(saved.suggestedFilename(), `${thread}-${seq}-5.pdf`, 'the name of a download');
  // The address of a picture alone: the browser draws it, and nothing else of it counts.
  await page.goto(new URL(file(1), facts.address).href);
  same(await page.evaluate(() => document.contentType), 'image/png', 'a picture by itself');
  await visit(page, `/t/${waits}`);
  same((await drawn(page)).map(({ naturalWidth }) => naturalWidth), [1], 'the picture of a question');
  const carol = await signedIn(await stage.context(), 'carol');
  await visit(carol, '/approvals');
  const [asked] = await drawn(carol);
  same([asked.src, asked.naturalWidth], [`/t/${waits}/1/files/1`, 1], 'the picture that a person decides about');
  await judge(carol, 'a picture that waits for a person');
});
