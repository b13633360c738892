// The stage finds what is planted: each page here but the first has one fault, and the stage must name it. The pages
// come from a server of the story's own.

import { createServer } from 'node:http';
import { PATIENCE, SCHEMES, WIDTHS, axe, facts, holds, judge, overflow, same, story, text, until, visit } from './stage.mjs';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; " +
  "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const STYLE = 'body{color-scheme:light dark;color:CanvasText;background:Canvas}#wide{width:900px}#faint{color:#aaa;background:#fff}';
const page = (body) =>
  `<!doctype html><html lang="en"><head><title>Page</title><meta name="viewport" content="width=device-width">
   <link rel="icon" href="/icon.svg"><link rel="stylesheet" href="/page.css"></head><body><main><h1>Page</h1>${body}</main></body></html>`;
const FILES = {
  '/': page('<p>All is well.</p><script src="/good.js"></script><noscript>No scripts.</noscript>'),
  '/inline': page('<script>document.title = "x"</script>'),
  '/inner': page('<script src="/inner.js"></script>'),
  '/throws': page('<script src="/throws.js"></script>'),
  '/lost': page('<img alt="lost" src="/nothing.png">'),
  '/faint': page('<p id="faint">This is hard to read.</p>'),
  '/unnamed': page('<input type="text">'),
  '/wide': page('<p id="wide">Wide</p>'),
  '/page.css': STYLE,
  '/good.js': "document.querySelector('p').append(' It says so.');",
  '/inner.js': "document.querySelector('main').innerHTML = '<b>x</b>';",
  '/throws.js': "throw new Error('planted');",
  '/icon.svg': '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>',
};
const TYPES = { css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' };

const server = createServer((request, response) => {
  const body = FILES[request.url];
  const type = TYPES[request.url.split('.')[1]] ?? 'text/html';
  response.writeHead(body === undefined ? 404 : 200, { 'content-type': type, 'content-security-policy': POLICY });
  response.end(body);
});
await new Promise((listens) => server.listen(0, '127.0.0.1', listens));
facts.address = `http://127.0.0.1:${server.address().port}`;

try {
  await story(async (stage) => {
    for (const width of WIDTHS) {
      for (const scheme of SCHEMES) {
        for (const scripts of [true, false]) {
          const context = await stage.context({ width, scheme, scripts });
          const page = await context.newPage();
          same(await visit(page, '/'), 200, 'the status');
          const wanted = scripts ? 'All is well. It says so.' : 'No scripts.';
          holds((await text(page)).includes(wanted), `${scripts}: ${await text(page)}`);
          await judge(page, 'a good page');
          await context.close();
        }
      }
    }
    stage.clean();

    const context = await stage.context({ width: 320 });
    const page = await context.newPage();
    for (const [path, wanted] of [
      ['/inline', 'CSP script-src'],
      ['/inner', 'CSP require-trusted-types-for'],
      ['/throws', 'planted'],
      ['/lost', '404'],
    ]) {
      await visit(page, path);
      // A breach is told over another line than the answer of the visit.
      const end = Date.now() + PATIENCE;
      while (!stage.faults.some((fault) => fault.includes(wanted)) && Date.now() < end) {
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
      }
      const found = stage.faults.splice(0);
      holds(found.some((fault) => fault.includes(wanted)), `${path}: ${wanted} is not in ${JSON.stringify(found)}`);
    }
    for (const [path, wanted] of [
      ['/faint', 'color-contrast'],
      ['/unnamed', 'label'],
    ]) {
      await visit(page, path);
      const found = await axe(page);
      holds(found.some((fault) => fault.startsWith(wanted)), `${path}: ${wanted} is not in ${JSON.stringify(found)}`);
    }
    await visit(page, '/wide');
    holds((await overflow(page)).includes('p'), 'what is wide is named');
    await until(page, (id) => document.getElementById(id), 'it is there', 'wide');
    // The same without scripts: the console alone tells of the policy.
    const silent = await stage.context({ scripts: false });
    const still = await silent.newPage();
    await visit(still, '/unnamed');
    holds((await axe(still)).some((fault) => fault.startsWith('label')), 'axe judges a page without scripts');
    await context.close();
    await silent.close();
    stage.clean();
  });
} finally {
  server.close();
}
