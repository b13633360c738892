// The stage of the stories: a headless Chromium, pages that are watched for faults, and the line to the test.
//
// A story reads the facts of its test as one line of JSON on stdin. It asks the test to do something outside of the
// browser with `does`. It fails with an error; what it prints is shown then. Waits are for conditions, with a limit.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const require = createRequire(join(process.env.PLAYWRIGHT, 'package.json'));
const { chromium } = require('playwright-core');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Longer than anything here takes on a busy machine, in milliseconds. */
export const PATIENCE = 240_000;

/** The widths of a desk, of a phone, and the smallest that a page must fit. */
export const WIDTHS = [1280, 390, 320];
export const SCHEMES = ['light', 'dark'];

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function read() {
  const { value, done } = await lines.next();
  if (done) throw new Error('the test has closed its line');
  return JSON.parse(value);
}

/** What the test says at the beginning: addresses, tokens and threads. */
export const facts = await read();

/** Asks the test to do something, such as to kill the organism. Returns its answer. */
export async function does(what, more = {}) {
  process.stdout.write(`does ${JSON.stringify({ what, ...more })}\n`);
  return await read();
}

/** Fails unless something holds. */
export function holds(is, words) {
  if (!is) throw new Error(words);
}

/** Fails unless two values are the same as JSON. */
export function same(found, wanted, words) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a === b) return;
  // Of long values, what is around the first difference.
  let at = 0;
  while (a[at] === b[at]) at += 1;
  const [from, to] = [Math.max(0, at - 200), at + 400];
  throw new Error(`${words}\n  found:  ${a.slice(from, to)}\n  wanted: ${b.slice(from, to)}`);
}

/** Runs a story in a browser, which is closed whatever happens. */
export async function story(play) {
  const browser = await chromium.launch({
    executablePath: facts.chromium,
    // Without a user of its own in a container there is no sandbox; /dev/shm is often too small there.
    args: [...(process.getuid() === 0 ? ['--no-sandbox'] : []), '--disable-dev-shm-usage', '--disable-gpu'],
    timeout: PATIENCE,
  });
  try {
    await play(new Stage(browser));
  } finally {
    await browser.close();
    process.stdin.destroy();
  }
}

/** A browser and all faults that its pages had. */
class Stage {
  constructor(browser) {
    this.browser = browser;
    this.faults = [];
    this.expected = [];
  }

  /** A context of its own, as another browser. `scripts: false` turns JavaScript off. */
  async context(chosen = {}) {
    const { width = 1280, height = 900, scheme = 'light', scripts = true, ...more } = chosen;
    const context = await this.browser.newContext({
      viewport: { width, height },
      colorScheme: scheme,
      javaScriptEnabled: scripts,
      reducedMotion: 'reduce',
      ...more,
    });
    context.setDefaultTimeout(PATIENCE);
    Object.assign(context, { stage: this, chosen, hasScripts: scripts });
    await context.exposeBinding('__violates', ({ page }, words) => this.fault(page, words));
    await context.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => {
        const { violatedDirective, blockedURI, sourceFile, lineNumber, sample } = event;
        globalThis.__violates(`CSP ${violatedDirective}: ${blockedURI} ${sourceFile}:${lineNumber} ${sample}`);
      });
    });
    context.on('page', (page) => this.watch(page));
    return context;
  }

  /** Notes everything that a console shows in red. */
  watch(page) {
    page.on('console', (message) => {
      const place = message.location().url;
      if (message.type() === 'error') this.fault(page, `console: ${message.text()} ${place}`);
    });
    page.on('pageerror', (error) => this.fault(page, `error: ${error.stack ?? error}`));
    page.on('crash', () => this.fault(page, 'the page crashed'));
  }

  fault(page, words) {
    if (!this.expected.some((pattern) => pattern.test(words))) this.faults.push(`${page.url()}: ${words}`);
  }

  /** Faults that match this are expected: what a browser says about a refusal that the story wants. */
  expects(pattern) {
    this.expected.push(pattern);
  }

  /** Fails if a page had a fault. */
  clean() {
    holds(this.faults.length === 0, `faults of pages:\n${this.faults.join('\n')}`);
  }
}

/** Goes to an address and waits until it is loaded. Returns the status. */
export async function visit(page, path) {
  const answer = await page.goto(new URL(path, facts.address).href, { waitUntil: 'load' });
  return answer.status();
}

/** Waits until something is so. It looks after each change that the browser paints, or again at once. */
export async function until(page, is, words, argument) {
  try {
    return await page.waitForFunction(is, argument, { timeout: PATIENCE });
  } catch (error) {
    throw new Error(`${words}: ${error.message}\n${await page.locator('body').innerText()}`);
  }
}

/** Runs texts of JavaScript in a world beside that of the page, to which its policy does not apply. */
async function beside(page, ...scripts) {
  const session = await page.context().newCDPSession(page);
  try {
    const { frameTree } = await session.send('Page.getFrameTree');
    const world = { frameId: frameTree.frame.id, worldName: 'judge' };
    const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', world);
    let value;
    for (const expression of scripts) {
      const asked = { expression, contextId, awaitPromise: true, returnByValue: true };
      const { result, exceptionDetails } = await session.send('Runtime.evaluate', asked);
      holds(!exceptionDetails, `a judge failed: ${JSON.stringify(exceptionDetails)}`);
      ({ value } = result);
    }
    return value;
  } finally {
    await session.detach();
  }
}

/** What axe-core finds wrong in a page, a line for each rule and element. It is a script, and waits for promises. */
export async function axe(page) {
  if (!page.context().hasScripts) return await axeWithoutScripts(page);
  const rules = `axe.run(document, { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } }).then((found) => found.violations.flatMap((rule) =>
    rule.nodes.map((node) => rule.id + ': ' + node.target.join(' ') + ': ' + node.failureSummary)))`;
  return await beside(page, `${AXE};0`, rules);
}

/** The same for a page as it is without scripts: a twin without them shows it to axe-core. */
async function axeWithoutScripts(page) {
  const shown = (await page.content())
    .replace(/<script[^>]*>[^]*?<\/script>/g, '')
    .replace(/<(\/?)noscript[^>]*>/g, '<$1div>');
  const { stage, chosen } = page.context();
  const twins = await stage.context({ ...chosen, scripts: true, storageState: await page.context().storageState() });
  try {
    const twin = await twins.newPage();
    await twin.route(page.url(), (route) => route.fulfill({ contentType: 'text/html; charset=utf-8', body: shown }));
    await twin.goto(page.url());
    return await axe(twin);
  } finally {
    await twins.close();
  }
}

/** The width of the document, if it is wider than its window, and what sticks out. */
export async function overflow(page) {
  return await beside(
    page,
    `(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      if (scrollWidth <= clientWidth) return null;
      const out = [...document.body.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > clientWidth + 1);
      const name = (e) => e.tagName.toLowerCase() + (e.className ? '.' + e.className : '');
      return scrollWidth + ' of ' + clientWidth + ' pixels: ' + out.slice(0, 5).map(name).join(', ');
    })()`,
  );
}

/** The text of a page as a person sees it. */
export async function text(page, selector = 'body') {
  return await page.locator(selector).first().innerText();
}

/** Takes a picture of the whole page, if somewhere is a folder for pictures. */
export async function picture(page, name) {
  const folder = process.env.PICTURES;
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** Everything that must hold for any page, at any width, in any colours, with and without scripts. */
export async function judge(page, name) {
  const wide = await overflow(page);
  holds(!wide, `${name} is too wide: ${wide}`);
  const found = await axe(page);
  holds(found.length === 0, `${name} is not for everyone:\n${found.join('\n')}`);
  await picture(page, name);
}
