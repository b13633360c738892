// Every page that a link leads to: in light with scripts and in dark without them, at three widths, judged by axe-core,
// without a fault on the console and without a breach of the policy. With `SYSTOLE_CASES` in both colours at each width.

import { crawl, kindOf, seeds, signedIn } from './house.mjs';
import { SCHEMES, WIDTHS, axe, facts, holds, overflow, picture, same, story, text, visit } from './stage.mjs';

/** Pages that must be among them. A page that no link leads to is forgotten. */
const KNOWN = [
  '/', '/threads', '/session', '/t/ID', '/t/ID/N', '/t/ID/time', '/t/ID/time?by=', '/t/ID/todo', '/t/ID/context', '/approvals', '/approvals/A/amend', '/decisions',
  '/send', '/refused', '/cost', '/slow', '/find', '/map', '/config', '/proof', '/threads/order?order=', '/diff/ID/ID',
];

const named = (path) => kindOf(path).replace(/[^A-Za-z0-9]+/g, '-').replace(/^-|-$/g, '') || 'first';

/** The size of the smallest text of a picture, in pixels of the page. */
const smallest = (page) => page.evaluate(() => {
  const size = (text) => Number.parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;
  return Math.min(99, ...Array.from(document.querySelectorAll('svg text'), size));
});

/** Words of tables that are broken over two lines, apart from sentences, payloads and hashes. */
const broken = (page) => page.evaluate(() => {
  const found = [];
  for (const cell of document.querySelectorAll('td:not(.words, .entry)')) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const word = texts.currentNode.data.trim();
      const range = document.createRange();
      range.selectNodeContents(texts.currentNode);
      const lines = new Set(Array.from(range.getClientRects(), (box) => Math.round(box.top)));
      if (word.length <= 40 && !/[\s-]/.test(word) && lines.size > 1) found.push(word);
    }
  }
  return found;
});

await story(async (stage) => {
  const made = await seeds();
  const context = await stage.context();
  const page = await signedIn(context);
  const first = ['/', '/threads', '/threads/order?order=pause', ...Object.values(made).map(({ thread }) => `/t/${thread}`)];
  // No link leads to two threads: a form does.
  await visit(page, `/t/${made.answered.thread}`);
  await page.getByLabel('Compare with thread').fill(made.parent.thread);
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.waitForURL(/diff/);
  first.push(new URL(page.url()).pathname);
  const found = await crawl(page, first, 1);
  const kinds = new Set(found.map(kindOf));
  for (const known of KNOWN) holds(kinds.has(known), `${known} is not among ${[...kinds].join(' ')}`);
  console.log(`${found.length} pages: ${[...kinds].join(' ')}`);

  const faults = [];
  const note = (path, how, words) => faults.push(`${path}, ${how}: ${words}`);
  for (const path of found) {
    await visit(page, path);
    holds((await text(page, 'h1')).trim() !== '', `${path} has no heading`);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      for (const colorScheme of facts.all ? SCHEMES : ['light']) {
        await page.emulateMedia({ colorScheme });
        const wide = await overflow(page);
        if (wide) note(path, width, wide);
        if ((await smallest(page)) < 12) note(path, width, 'a picture has too small a text');
        if (width === 1280) for (const word of await broken(page)) note(path, width, `${word} is broken`);
        await picture(page, `${named(path)}-${width}-${colorScheme}`);
        // The narrowest has the layout of a phone, and the colours are those of any width.
        if (width === 390 || (width === 320 && !facts.all)) continue;
        for (const words of await axe(page)) note(path, `${width} ${colorScheme}`, words);
      }
    }
  }

  const plain = await stage.context({ scripts: false, scheme: 'dark', width: 320 });
  const still = await signedIn(plain);
  for (const path of found) {
    same(await visit(still, path), 200, `${path} without scripts`);
    for (const width of WIDTHS) {
      await still.setViewportSize({ width, height: 900 });
      const wide = await overflow(still);
      if (wide) note(path, `${width} without scripts`, wide);
    }
    holds((await text(still, 'h1')).trim() !== '', `${path} has no heading without scripts`);
    const details = still.locator('main details:not([open]) > summary').first();
    if ((await details.count()) > 0) await details.click();
    for (const words of await axe(still)) note(path, 'without scripts', words);
    await picture(still, `${named(path)}-plain`);
  }
  same(faults, [], `pages with faults:\n${faults.join('\n')}\n`);
  stage.clean();
});
