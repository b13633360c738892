// A page says what the command says: the records of a thread as `systole log` does, its reasons as `systole why`, its
// tree as `systole tree`. Times that pass meanwhile are left out.

import { seeds, signedIn, systole } from './house.mjs';
import { holds, same, story, text, visit } from './stage.mjs';

/** A text without the times that pass, and without the blanks at which a terminal breaks its lines. */
const words = (shown) => shown.replace(/\b\d+(\.\d+)? (ms|s|m|h|d|min)\b/g, 'TIME').replace(/\s+/g, '');

await story(async (stage) => {
  const made = await seeds();
  const context = await stage.context();
  const page = await signedIn(context);
  const plain = await stage.context({ scripts: false });
  const still = await signedIn(plain);
  for (const [name, { thread }] of Object.entries(made)) {
    for (const shown of [page, still]) {
      await visit(shown, `/t/${thread}`);
      const sentences = await shown.locator('.row').evaluateAll((rows) =>
        rows.map((row) => [row.querySelector('.day')?.textContent ?? '', row.querySelector('.said').textContent].join('\n')),
      );
      same(words(sentences.join('\n')), words(await systole('log', thread)), `${name}: the records`);
      same(words(await text(shown, '#why pre')), words(await systole('why', thread)), `${name}: the reasons`);
      const drawn = words((await systole('tree', thread)).replace(/[│├└─]/g, ' '));
      // A long line is cut on the page, perhaps within a time.
      const lines = (await text(shown, '#tree')).split('\n').map((line) => words(line.replace(/\S*….*$/, '')));
      for (const line of lines.filter(Boolean)) {
        holds(drawn.includes(line), `${name}: the tree has ${line}\nand the command ${drawn}`);
      }
    }
    await visit(page, `/t/${thread}/1`);
    holds(words(await text(page, '.report')).length > 0, `${name}: the sentence of its first record`);
  }
  stage.clean();
});
