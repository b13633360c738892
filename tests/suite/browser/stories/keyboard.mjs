// By keyboard alone: a person signs in, finds the first thing that went wrong, reads why, and approves what waits.
// The mouse is never used, and the focus can always be seen.

import { answers, seeds, systole } from './house.mjs';
import { SCHEMES, facts, holds, judge, same, story, text, until } from './stage.mjs';

/** Presses Tab until the focus is on something with this text or label. */
async function tabTo(page, name, key = 'Tab') {
  const passed = [];
  for (let presses = 0; presses < 300; presses += 1) {
    await page.keyboard.press(key);
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      // Past the last element the focus leaves the page.
      if (element === document.body) return { words: '', isSeen: true, isThere: false };
      const words = [element.getAttribute('aria-label'), element.labels?.[0]?.textContent, element.textContent, element.value];
      const box = element.getBoundingClientRect();
      const style = getComputedStyle(element);
      const isSeen = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
      return { words: words.find((one) => one && one.trim())?.trim() ?? element.tagName, isSeen, isThere: box.width > 0 && box.height > 0 };
    });
    passed.push(focused.words.slice(0, 40));
    holds(focused.isSeen, `the focus is not seen on ${focused.words}`);
    if (focused.isThere && focused.words.startsWith(name)) return;
  }
  throw new Error(`Tab does not lead to ${name}: ${passed.join(' | ')}`);
}

/** Where the records and the selected record are. */
const places = (page) => page.evaluate(() => ['.rows', '.detail'].map((one) => document.querySelector(one).getBoundingClientRect().toJSON()));

const arrives = (page, pattern) => page.waitForURL(pattern, { waitUntil: 'load' });

await story(async (stage) => {
  const made = await seeds();
  const context = await stage.context();
  const page = await context.newPage();
  stage.expects(/status of 401/);
  await page.goto(facts.address);
  // The browser gives the field the focus a moment after the page has loaded.
  await page.locator('input:focus').waitFor();
  await page.keyboard.type(facts.token);
  await page.keyboard.press('Enter');
  await page.locator('.who').waitFor();

  // The first Tab leads past the navigation.
  await tabTo(page, 'Skip to the content');
  await page.keyboard.press('Enter');
  same(await page.evaluate(() => document.activeElement.id), 'main', 'the link leads to the content');

  // The list of keys.
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });

  // To the threads, then with j and Enter to the one that died: e finds what went wrong in it.
  await tabTo(page, 'Threads');
  await page.keyboard.press('Enter');
  await arrives(page, '**/threads');
  await page.keyboard.press('/');
  same(await page.evaluate(() => document.activeElement.type), 'search', '/ leads to the filter');
  await page.keyboard.type('die');
  await page.keyboard.press('Enter');
  await arrives(page, '**/threads?*q=die*');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await arrives(page, `**/t/${made.dead.thread}*`);
  await page.keyboard.press('e');
  await until(page, () => document.querySelector('.row.current'), 'e selects a row');
  const wrong = await text(page, '.row.current');
  holds(wrong.includes('dead letter'), `the first that went wrong: ${wrong}`);
  await page.keyboard.press(']');
  holds(await page.locator('.row.current details').evaluate((details) => details.open), '] unfolds');
  await page.keyboard.press('[');
  holds(!(await page.locator('.row.current details').evaluate((details) => details.open)), '[ folds');
  await page.keyboard.press('Enter');
  await arrives(page, `**/t/${made.dead.thread}/*`);
  holds((await text(page, '#cause')).includes('die'), 'the cause is the request');

  // Approve: from Attention to the request, and its button.
  await tabTo(page, 'Approvals');
  await page.keyboard.press('Enter');
  await arrives(page, '**/approvals');
  const waiting = (await answers('/v1/approvals', () => true, 'they wait')).approvals;
  const { id } = waiting.find(({ kind }) => kind === 'approval');
  await tabTo(page, id);
  await page.keyboard.press('Enter');
  await arrives(page, `**/approvals?one=${id}`);
  await tabTo(page, 'Approve');
  await page.keyboard.press('Enter');
  await page.getByText('is decided').waitFor();
  await answers('/v1/approvals', ({ approvals }) => approvals.every((one) => one.id !== id), 'it is decided');
  await answers(`/t/${made.held.thread}`, ({ life }) => life !== 'working', 'it was delivered');
  holds((await systole('log', made.held.thread)).includes('vault heard hold this'), 'it was delivered');

  // The tree of a thread: arrows move in it.
  await page.goto(`${facts.address}/t/${made.parent.thread}`);
  if ((await page.locator('[role=tree]').count()) > 0) {
    await page.locator('[role=tree] a[tabindex="0"]').focus();
    await page.keyboard.press('ArrowDown');
    const moved = await page.evaluate(() => document.activeElement.closest('[role=treeitem]') !== null);
    holds(moved, 'the arrow stays in the tree');
  }

  // On a wide screen the selected record is shown beside the list, and Enter still leads to its page.
  await page.setViewportSize({ width: 1600, height: 900 });
  await page.goto(`${facts.address}/t/${made.dead.thread}`);
  holds(await page.locator('.detail').isHidden(), 'nothing is selected yet');
  await page.keyboard.press('e');
  await page.locator('.detail').getByRole('heading', { name: 'Judged' }).or(page.locator('.detail h2').first()).first().waitFor();
  holds((await text(page, '.detail')).includes('dead letter'), 'the detail is that of the selected record');
  const [rows, detail] = await places(page);
  holds(rows.right <= detail.left && detail.right <= 1600 && rows.width >= 400, `side by side: ${JSON.stringify({ rows, detail })}`);
  holds(detail.top < 900 && detail.height > 200, `it is in sight: ${JSON.stringify(detail)}`);
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme });
    await judge(page, `selected-1600-${colorScheme}`);
  }
  // The next row takes its place; below that width the list is alone.
  await page.keyboard.press('k');
  const lead = await page.locator('.row.current .lead').getAttribute('href');
  await until(page, (href) => document.querySelector('.detail pre')?.textContent.includes(` #${href.split('/').pop()} `), 'the detail follows', lead);
  await page.setViewportSize({ width: 1280, height: 900 });
  holds(await page.locator('.detail').isHidden(), 'a narrower window shows the list alone');
  await page.keyboard.press('Enter');
  await arrives(page, `**/t/${made.dead.thread}/*`);
  stage.clean();
});
