// A code of `systole console` signs one browser in, once. The cookie that it leaves only reads: a change needs the
// secret of the tab, or the token typed. Without scripts a form does the same.

import { asks, cookieName, sends, signedIn, systole } from './house.mjs';
import { does, facts, holds, judge, picture, same, story, text, until, visit } from './stage.mjs';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const JSON_ONLY = { accept: 'application/json' };
const own = () => ({ origin: facts.address, 'sec-fetch-site': 'same-origin' });

async function stateOf(thread) {
  const answer = await asks('GET', `/t/${thread}`, { token: facts.token, headers: JSON_ONLY });
  return JSON.parse(answer.text).state;
}

await story(async (stage) => {
  const { thread } = await sends('echo', 'hello');
  const held = await sends('vault', 'held', { wait: false });

  // The address signs in once, and the code is gone from the address bar.
  const context = await stage.context();
  const page = await context.newPage();
  stage.expects(/status of 401/);
  const address = (await systole('console', '--no-browser')).trim();
  holds(/^http:\/\/127\.0\.0\.1:\d+\/#[0-9a-f]{32}$/.test(address), address);
  await page.goto(address);
  await page.locator('.who').waitFor();
  holds(!page.url().includes('#') || page.url().endsWith('#'), `the code stays in the address: ${page.url()}`);
  holds((await text(page, '.who')).includes('operator'), await text(page, '.who'));
  await judge(page, 'signed in');

  // The same code signs no second browser in, and says so.
  const second = await stage.context();
  const other = await second.newPage();
  await other.goto(address);
  await until(other, () => document.querySelector('#mistake')?.textContent.includes('counts once'), 'it says why');
  same(await second.cookies(), [], 'a code that was used gives no cookie');
  await judge(other, 'a code that was used');
  await second.close();

  // The cookie: for scripts out of reach, for other sites too, and it opens no route for programs.
  const [cookie, ...more] = await context.cookies();
  same(more, [], 'one cookie');
  same([cookie.name, cookie.httpOnly, cookie.sameSite, cookie.expires], [cookieName(), true, 'Strict', -1], 'the cookie');
  same(await page.evaluate(() => document.cookie), '', 'no script reads it');
  const reads = { cookie: `${cookie.name}=${cookie.value}` };
  for (const path of ['/', '/threads', `/t/${thread}`]) {
    same((await asks('GET', path, { headers: { ...reads, accept: 'text/html' } })).status, 200, path);
  }
  same((await asks('GET', '/v1/status', { headers: reads })).status, 401, 'the routes for programs take a token');
  const changes = [`/t/${held.thread}/pause`, `/t/${held.thread}/cancel`, `/t/${thread}/end`];
  for (const path of changes) {
    for (const more of [{}, own(), { ...own(), 'systole-secret': '0'.repeat(32) }]) {
      const answer = await asks('POST', path, { headers: { ...reads, ...FORM, ...JSON_ONLY, ...more }, body: 'note=x' });
      same(answer.status, 403, `${path} with ${JSON.stringify(more)}`);
    }
  }
  same([await stateOf(thread), (await stateOf(held.thread)) !== 'paused'], ['answered', true], 'nothing was changed');

  // The tab has the secret, so its buttons work without a token.
  await visit(page, `/t/${held.thread}`);
  same(await page.getByLabel('Your token').filter({ visible: true }).count(), 0, 'a tab with its secret asks for no token');
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  same(await stateOf(held.thread), 'paused', 'the button pauses');

  // A second tab of this browser gets the secret from the first one.
  const tab = await context.newPage();
  await visit(tab, `/t/${held.thread}`);
  await until(tab, () => document.documentElement.classList.contains('has-secret'), 'the second tab has it too');
  await tab.getByRole('button', { name: 'Resume' }).click();
  await tab.getByRole('button', { name: 'Pause' }).waitFor();
  await tab.close();

  // Signed out, nothing is read any more.
  await visit(page, '/session');
  await judge(page, 'the session');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Code or token').waitFor();
  same(await visit(page, `/t/${thread}`), 401, 'a page after signing out');
  holds(!(await text(page)).includes('heard'), 'nothing of the thread is shown');
  same((await asks('GET', '/', { headers: reads })).status, 401, 'the old cookie');
  await context.close();

  // Without scripts: the form signs in, and a change asks for the token.
  const plain = await stage.context({ scripts: false, width: 320 });
  const still = await signedIn(plain);
  await visit(still, `/t/${held.thread}`);
  await judge(still, 'a thread without scripts');
  stage.expects(/status of 403/);
  await still.getByRole('button', { name: 'Pause' }).click();
  await still.getByText('A change needs your token').waitFor();
  await picture(still, 'the token is missing');
  same((await stateOf(held.thread)) !== 'paused', true, 'nothing was changed');
  await still.getByLabel('Your token').fill('wrong-token-0123456789');
  await still.getByRole('button', { name: 'Go on' }).click();
  await still.getByText('This token is not known').waitFor();
  await still.getByLabel('Your token').fill(facts.token);
  await still.getByRole('button', { name: 'Go on' }).click();
  await still.getByRole('button', { name: 'Resume' }).waitFor();
  same(await stateOf(held.thread), 'paused', 'with the token it is changed');
  await plain.close();

  // A form of a session that ended meanwhile is not lost: the browser sends it again after signing in.
  for (const scripts of [true, false]) {
    const away = await stage.context({ scripts });
    const form = await signedIn(away);
    await visit(form, '/send?element=say&to=echo');
    await form.getByLabel('text').fill(`typed for long, scripts ${scripts}`);
    const other = await away.newPage();
    await visit(other, '/session');
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByLabel('Code or token').waitFor();
    stage.expects(/status of 40[13]/);
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await form.getByText('Your session has ended. Nothing was changed.').waitFor();
    await judge(form, 'a form of an ended session');
    await form.getByLabel('Code or token').fill(facts.token);
    if (scripts) {
      await form.getByRole('button', { name: 'Sign in' }).click();
    } else {
      const opened = away.waitForEvent('page');
      await form.getByRole('button', { name: 'Sign in' }).click();
      await (await opened).locator('.who').waitFor();
      await form.reload();
    }
    await form.getByText('Send <say> to echo').waitFor();
    holds((await text(form, 'main')).includes(`typed for long, scripts ${scripts}`), await text(form, 'main'));
    await judge(form, 'what is sent again');
    if (!scripts) await form.getByLabel('Your token').fill(facts.token);
    await form.getByRole('button', { name: 'Go on' }).click();
    await form.waitForURL(/\/t\//);
    holds((await text(form, 'main')).includes(`typed for long, scripts ${scripts}`), await text(form, 'main'));
    await away.close();
  }

  // A tab whose secret counts no more asks for the token, and then works again.
  const twice = await stage.context();
  const away = await signedIn(twice);
  await away.goto('about:blank');
  const between = await twice.newPage();
  await visit(between, '/session');
  await between.getByRole('button', { name: 'Sign out' }).click();
  await between.getByLabel('Code or token').fill(facts.token);
  await between.getByRole('button', { name: 'Sign in' }).click();
  await between.locator('.who').waitFor();
  await between.close();
  await visit(away, `/t/${held.thread}`);
  await away.getByRole('button', { name: 'Resume' }).click();
  await away.getByText('The session of this form has ended').waitFor();
  await judge(away, 'a secret that counts no more');
  await away.getByLabel('Your token').fill(facts.token);
  await away.getByRole('button', { name: 'Go on' }).click();
  await away.getByRole('button', { name: 'Pause' }).waitFor();
  await twice.close();

  // A client signs in with its own token and sees its own threads.
  const mine = await sends('echo', 'mine', { token: facts.tokens.alice });
  const clients = await stage.context();
  const hers = await signedIn(clients, 'alice');
  await visit(hers, '/threads');
  const listed = await text(hers, 'main');
  holds(listed.includes(mine.thread) && !listed.includes(thread), listed);
  stage.expects(/status of 404/);
  same(await visit(hers, `/t/${thread}`), 404, 'the thread of another client');
  const never = thread.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  const seen = (await text(hers, 'main')).replaceAll(thread, 'ID');
  same(await visit(hers, `/t/${never}`), 404, 'a thread that never was');
  same((await text(hers, 'main')).replaceAll(never, 'ID'), seen, 'they look the same');
  await judge(hers, 'a thread that is not there');
  await clients.close();

  // An organism that is started again remembers who is signed in, also for changes.
  stage.clean();
  stage.expects(/Failed to load resource/);
  const last = await stage.context();
  const lost = await signedIn(last);
  await does('kill');
  Object.assign(facts, await does('start'));
  same(await visit(lost, `/t/${held.thread}`), 200, 'a session outlives its organism');
  await lost.getByRole('button', { name: 'Pause' }).click();
  await lost.getByRole('button', { name: 'Resume' }).waitFor();
  same(await stateOf(held.thread), 'paused', 'the secret of the tab counts on');

  // A session that is over says so, and leads back.
  stage.expects(/status of 401/);
  await last.clearCookies();
  await last.addCookies([{ name: cookieName(), value: '0'.repeat(32), url: facts.address }]);
  same(await visit(lost, `/t/${held.thread}`), 401, 'it is over');
  same(await text(lost, 'h1'), 'Signed out', 'it says so');
  await judge(lost, 'signed out');
  await lost.getByLabel('Code or token').fill(facts.token);
  await lost.getByLabel('Stay signed in').check();
  await lost.getByRole('button', { name: 'Sign in' }).click();
  await lost.getByRole('button', { name: 'Resume' }).waitFor();
  same(new URL(lost.url()).pathname, `/t/${held.thread}`, 'it leads back');
  const days = ((await last.cookies())[0].expires * 1000 - Date.now()) / 86_400_000;
  holds(days > 29 && days <= 30, `the cookie stays for ${days} days`);
  await last.close();
  stage.clean();
});
