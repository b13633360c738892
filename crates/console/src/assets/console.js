// The pages work without this script. With it they sign in from the address, follow the log and take keys.
// It writes text only as text: no markup is made from a string.

const root = document.documentElement;
const client = root.dataset.client;
const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
const one = (selector, from = document) => from.querySelector(selector);
const made = (name, text, kind) => {
  const element = document.createElement(name);
  if (text) element.textContent = text;
  if (kind) element.className = kind;
  return element;
};
const channel = 'BroadcastChannel' in window ? new BroadcastChannel('systole') : null;
const told = (message) => { if (channel) channel.postMessage(message); };

// Signing in. The code is behind `#`, so that no server and no log of a proxy sees it.
const CODE = /^#[0-9a-f]{32}$/;
async function signIn(shown, stay) {
  const body = new URLSearchParams(stay ? { code: shown, stay } : { code: shown });
  const answer = await fetch('/session', { method: 'POST', body, headers: { accept: 'application/json' } });
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.message);
  // At the public address the cookie makes changes, and there is no secret.
  if (value.secret) keep(value.client, value.secret);
  return value;
}
function keep(owner, secret) {
  sessionStorage.setItem('secret', JSON.stringify({ owner, secret }));
  told({ owner, secret });
  if (owner === client) ready();
}
function secretOf() {
  try {
    const kept = JSON.parse(sessionStorage.getItem('secret') || 'null');
    return kept && kept.owner === client ? kept.secret : null;
  } catch { return null; }
}
function failed(words) {
  const place = one('#mistake');
  if (place) { place.hidden = false; place.textContent = words; }
}
function forget() {
  history.replaceState(null, '', location.pathname + location.search);
}
async function signInByAddress() {
  if (!CODE.test(location.hash)) return;
  const code = location.hash.slice(1);
  forget();
  try { await signIn(code); location.reload(); } catch (error) { failed(error.message); }
}
const signInForm = one('[data-sign-in]');
if (signInForm) {
  signInForm.addEventListener('submit', async (event) => {
    event.preventDefault();
    const form = new FormData(signInForm);
    try {
      await signIn(String(form.get('code')).trim(), form.get('stay'));
      // The browser still holds the form of an ended session, and sends it again.
      if (signInForm.dataset.signIn === 'again') location.reload(); else location.assign(String(form.get('to') || '/'));
    } catch (error) { failed(error.message); }
  });
  // A page that another site leads to comes without the cookie at first.
  if (!CODE.test(location.hash)) {
    fetch('/session', { headers: { accept: 'application/json' } }).then((answer) => answer.json()).then((who) => {
      const to = String(new FormData(signInForm).get('to'));
      if (who.client && !signInForm.dataset.signIn && sessionStorage.getItem('again') !== to) { sessionStorage.setItem('again', to); location.assign(to); }
    }).catch(() => {});
  }
} else { sessionStorage.removeItem('again'); }
const signOut = one('[data-sign-out]');
if (signOut) signOut.addEventListener('submit', () => sessionStorage.removeItem('secret'));

// The secret for changes: forms carry it, and then no token is typed. One that was refused counts no more.
if (one('[data-stale]') && secretOf() === sessionStorage.getItem('sent')) sessionStorage.removeItem('secret');
function ready() {
  const secret = secretOf();
  root.classList.toggle('has-secret', Boolean(secret));
  return secret;
}
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.method !== 'post' || form.matches('[data-sign-in], [data-sign-out]')) return;
  const secret = secretOf();
  if (!secret || one('input[name=secret]', form)) return;
  const field = made('input');
  field.type = 'hidden'; field.name = 'secret'; field.value = secret;
  sessionStorage.setItem('sent', secret);
  form.append(field);
});
if (channel) {
  channel.addEventListener('message', ({ data }) => {
    if (!data) return;
    if (data.has && data.has === client && !secretOf()) told({ wants: client });
    if (data.wants && data.wants === client) { const secret = secretOf(); if (secret) told({ owner: client, secret }); }
    if (data.owner && data.owner === client && data.secret && data.secret !== secretOf()) {
      sessionStorage.setItem('secret', JSON.stringify({ owner: data.owner, secret: data.secret }));
      ready();
    }
    // The tab that holds the stream knows whether it is connected.
    if (data.lost) say(data.lost);
    if (data.position) { say('live'); moved(data.position); }
    if (data.speaking) hear(data.speaking);
  });
}
// Of two tabs that load at once the first one asks too early, so a tab that has the secret says so.
if (client) told(ready() ? { has: client } : { wants: client });
window.addEventListener('hashchange', signInByAddress);
signInByAddress();

// Commands to copy.
function withCopies(from) {
  for (const code of all('[data-copy]', from)) if (navigator.clipboard) addCopy(code);
}
function addCopy(code) {
  const button = made('button', 'Copy', 'copy');
  button.type = 'button';
  button.setAttribute('aria-label', `Copy: ${code.textContent}`);
  button.addEventListener('click', async () => {
    const from = code.dataset.copyFrom;
    const text = from ? await (await fetch(from)).text() : code.dataset.copy || code.textContent;
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  code.after(' ', button);
}
// The text of each region as it was sent, without the buttons that are added here.
const shown = new Map(all('[data-region]').map((region) => [region, region.textContent]));
withCopies(document);

// Following the log. One visible tab holds the stream and tells the others; a hidden tab lets it go.
const sign = one('[data-state]');
let lost = false;
function say(words) {
  lost = words !== 'live';
  if (sign) { sign.hidden = false; sign.textContent = words; }
}
let seen = Number(root.dataset.position) || 0, release = null, asking = false, due = '';
function moved(position) {
  if (position <= seen) return;
  seen = position;
  slide();
  update();
}
function lose(words) { say(words); told({ lost: words }); }
// The door refused the stream: the session may have ended, with the organism or by itself.
async function refused() {
  try {
    const answer = await fetch('/session', { headers: { accept: 'application/json' } });
    const who = await answer.json();
    lose(who.client ? 'not connected' : 'signed out: load the page again');
  } catch { lose('not connected'); }
}
function stream(ended) {
  const source = new EventSource('/live');
  source.addEventListener('tail', (event) => {
    const position = Number(event.data);
    say('live');
    told({ position });
    moved(position);
  });
  source.addEventListener('spoken', (event) => {
    const speaking = event.data.split(' ');
    told({ speaking });
    hear(speaking);
  });
  source.addEventListener('error', () => {
    if (source.readyState !== EventSource.CLOSED) return lose('not connected');
    ended();
    refused();
    setTimeout(follow, 5000);
  });
  return () => source.close();
}
function follow() {
  if (!root.hasAttribute('data-live') || document.hidden || release) return;
  const abort = new AbortController();
  let close = () => {};
  const hold = () => new Promise((resolve) => {
    const end = stream(resolve);
    close = () => { end(); resolve(); };
  });
  release = () => { release = null; abort.abort(); close(); };
  if (!lost) say('live');
  if (navigator.locks && channel) {
    navigator.locks.request('systole-live', { signal: abort.signal }, hold).catch(() => {}).finally(() => { release = null; });
  } else { hold().finally(() => { release = null; }); }
}
document.addEventListener('visibilitychange', () => {
  if (document.hidden) { if (release) release(); } else { follow(); seen = 0; update(); tick(); }
});
window.addEventListener('pagehide', () => { if (release) release(); });
window.addEventListener('pageshow', follow);

// A page is fetched as a document, and its elements are taken over. Nothing in it runs.
// The position says that this page refreshes itself, and how new its answer must be.
function fetched(address, body) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(body ? 'POST' : 'GET', address);
    request.setRequestHeader('accept', 'text/html');
    if (seen) request.setRequestHeader('systole-position', String(seen));
    request.responseType = 'document';
    request.onload = () => (request.status === 200 ? resolve(request.responseXML) : reject(new Error(String(request.status))));
    request.onerror = () => reject(new Error('no answer'));
    request.send(body);
  });
}

// A payload is judged as it is typed: the answer of the button Show, without the form.
for (const form of all('[data-judges]')) {
  let wait = 0, asked = 0;
  form.addEventListener('input', (event) => {
    if (!event.target.name || !event.target.name.startsWith('/')) return;
    clearTimeout(wait);
    wait = setTimeout(async () => {
      const own = ++asked;
      const given = new FormData(form);
      // A file goes up with the form alone, so that its size is sent once.
      if ([...given.values()].some((value) => value instanceof File && value.size)) return;
      const fields = new URLSearchParams([...given].filter(([, value]) => !(value instanceof File)));
      fields.delete('token');
      try {
        const next = await fetched(form.dataset.judges, fields);
        const [old, fresh] = [one('[data-judged]'), one('[data-judged]', next)];
        if (own !== asked || !old || !fresh) return;
        old.replaceChildren(...Array.from(document.adoptNode(fresh).childNodes));
        withCopies(old);
      } catch { /* The button Show says what is wrong. */ }
    }, 500);
  });
}
// One refresh at a time, of the whole page or of the words alone, so that no older answer comes after a newer one. What
// comes shortly after one is gathered, so that a lively log leaves the main thread to the person.
function update(part = 'page') {
  if (!root.hasAttribute('data-live') || document.hidden) return;
  if (due !== 'page') due = part;
  if (!asking) refresh();
}
async function refresh() {
  asking = true;
  while (due && !document.hidden) {
    const part = due;
    due = '';
    try { await (part === 'words' ? askWords() : askPage()); } catch (error) { if (error.message === '401') refused(); else say('not connected'); }
    await new Promise((over) => { setTimeout(over, part === 'words' ? 150 : 400); });
  }
  asking = false;
}
async function askPage() {
  const rows = one('[data-rows]');
  if (rows) await append(rows);
  if (one('[data-region]')) await replace();
}
// What calls say now. It is asked for when they spoke, and the text of a call that is shown is changed in its place.
function hear(roots) {
  const place = one('[data-words]');
  if (place && roots.includes(place.dataset.root)) update('words');
}
async function askWords() {
  const old = one('[data-words]');
  const fresh = old && one('[data-words]', await fetched(old.dataset.words));
  if (fresh) speak(old, fresh);
}
function speak(old, fresh) {
  const calls = all('article', fresh);
  const kept = new Set(calls.map((call) => call.id));
  for (const call of all('article', old)) if (!kept.has(call.id)) call.remove();
  const more = one('.more', old);
  for (const call of calls) {
    const known = document.getElementById(call.id);
    if (!known) more.before(document.adoptNode(call));
    else if (known.dataset.attempt !== call.dataset.attempt) known.replaceWith(document.adoptNode(call));
    else {
      const [was, is] = [one('pre', known), one('pre', call)];
      was.parentElement.hidden = is.parentElement.hidden;
      if (was.textContent !== is.textContent) was.textContent = is.textContent;
    }
  }
  more.textContent = one('.more', fresh).textContent;
  more.hidden = one('.more', fresh).hidden;
  old.hidden = fresh.hidden;
}
async function replace() {
  const source = one('[data-refresh]');
  const next = await fetched(source ? source.dataset.refresh : location.pathname + location.search);
  for (const fresh of all('[data-region]', next)) {
    const old = document.getElementById(fresh.id);
    const text = fresh.textContent;
    if (old && old.hasAttribute('data-words')) { speak(old, fresh); continue; }
    if (!old || (shown.has(old) ? shown.get(old) : old.textContent) === text) continue;
    if (old.hasAttribute('data-cards')) { shown.set(old, text); cards(old, fresh); continue; }
    const busy = document.activeElement;
    // What a person is in the middle of is not taken from under her hands.
    if (old.contains(busy) && busy !== old) continue;
    const open = new Set(all('details[open]', old).map((details) => details.id).filter(Boolean));
    old.replaceChildren(...Array.from(document.adoptNode(fresh).childNodes));
    for (const details of all('details', old)) if (open.has(details.id)) details.open = true;
    shown.set(old, text);
    withCopies(old);
    withTrees(old);
  }
  if (next.title) document.title = next.title;
}
// What a person may be about to click stays in its place: what is over is marked, and what is new comes below.
function cards(old, fresh) {
  for (const card of all('article', old)) {
    if (card.hasAttribute('data-over') || one(`#${CSS.escape(card.id)}`, fresh)) continue;
    card.setAttribute('data-over', '');
    for (const field of all('button, input, textarea', card)) field.disabled = true;
    one('h3', card).append(made('span', ' no longer waits', 'held'));
  }
  const empty = one('.empty', old);
  for (const card of all('article', fresh)) {
    if (document.getElementById(card.id)) continue;
    if (empty) empty.hidden = true;
    old.append(document.adoptNode(card));
    withCopies(card);
  }
}
let unseen = 0;
const more = made('button', '', 'new');
more.type = 'button';
more.hidden = true;
more.addEventListener('click', () => { unseen = 0; more.hidden = true; const last = all('.row').pop(); if (last) last.scrollIntoView({ block: 'end' }); });
function isAtEnd() { return window.innerHeight + window.scrollY >= document.body.scrollHeight - 80; }
async function append(rows) {
  let complete = false;
  while (!complete) {
    const url = new URL(rows.dataset.rows, location.href);
    url.searchParams.set('from', rows.dataset.last);
    const next = await fetched(url.pathname + url.search);
    const fresh = one('[data-last]', next);
    if (!fresh) return;
    const follows = isAtEnd();
    const added = all('.row', fresh).filter((row) => !document.getElementById(row.id));
    let chunk = one('.chunk:last-of-type', rows);
    let day = all('.day', rows).pop()?.textContent;
    for (const row of added) {
      const heading = one('.day', row);
      if (heading && heading.textContent === day) heading.remove(); else if (heading) day = heading.textContent;
      if (!chunk || chunk.childElementCount >= 200) { chunk = made('ol', '', 'chunk'); rows.append(chunk); }
      chunk.append(document.adoptNode(row));
    }
    rows.dataset.last = fresh.dataset.last;
    complete = !fresh.hasAttribute('data-more');
    if (!added.length) continue;
    if (follows) { window.scrollTo({ top: document.body.scrollHeight }); } else {
      unseen += added.length;
      more.textContent = `${unseen} new`;
      more.hidden = false;
      if (!more.isConnected) rows.after(more);
    }
  }
}

// Keys.
const rowsOf = () => all('[data-row], .row').filter((row) => row.getClientRects().length);
let current = null;
function select(row) {
  if (!row) return;
  if (current) current.classList.remove('current');
  current = row;
  row.classList.add('current');
  const link = row.matches('a') ? row : one('a', row);
  if (link) link.focus({ preventScroll: true });
  row.scrollIntoView({ block: 'nearest' });
  showDetail(row);
}
// On a wide screen the selected record is shown beside the list, as its own page has it.
const detail = one('[data-detail]');
let shownRecord = '';
async function showDetail(row) {
  const link = row.matches('.row') && one('a.lead', row);
  if (!detail || !link || shownRecord === link.href || !matchMedia('(min-width: 90rem)').matches) return;
  shownRecord = link.href;
  try {
    const next = await fetched(link.href);
    if (shownRecord !== link.href) return;
    const parts = all('main > section, main > .report', next);
    for (const part of parts) for (const named of [part, ...all('[id]', part)]) named.removeAttribute('id');
    detail.replaceChildren(...parts.map((part) => document.adoptNode(part)));
    detail.hidden = false;
    detail.parentElement.classList.add('with-detail');
    detail.scrollTop = 0;
    withCopies(detail);
  } catch { shownRecord = ''; }
}
function step(by, fits = () => true) {
  const rows = rowsOf();
  const focused = rows.findIndex((row) => row === current || row.contains(document.activeElement));
  for (let at = focused + by; at >= 0 && at < rows.length; at += by) if (fits(rows[at])) return select(rows[at]);
}
const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  e: () => step(1, (row) => row.classList.contains('bad')),
  '[': () => fold(false),
  ']': () => fold(true),
  '/': () => { const field = one('[data-search]'); if (field) field.focus(); else location.assign('/threads'); },
  '?': () => { const list = document.getElementById('keys'); if (list) list.showModal(); },
};
function fold(open) {
  const row = current || document.activeElement.closest('.row, [data-row]');
  const details = row && one('details', row);
  if (details) details.open = open;
}
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select, textarea, dialog')) return;
  if (event.key === 'Enter' && current && !event.target.closest('a, button, summary')) {
    const link = one('a', current);
    if (link) location.assign(link.href);
    return;
  }
  const action = KEYS[event.key];
  if (action) { event.preventDefault(); action(); }
});

// The tree: arrows move in it as in any tree.
function withTrees(from) { all('[role=tree]', from).forEach(withTree); }
function withTree(tree) {
  const items = () => all('[role=treeitem] > a', tree);
  for (const [at, link] of items().entries()) link.tabIndex = at ? -1 : 0;
  const here = one('[aria-current] > a', tree);
  if (here) { for (const link of items()) link.tabIndex = -1; here.tabIndex = 0; }
  tree.addEventListener('keydown', (event) => {
    const links = items();
    const at = links.indexOf(document.activeElement);
    const item = document.activeElement.closest('[role=treeitem]');
    const to = { ArrowDown: links[at + 1], ArrowUp: links[at - 1], Home: links[0], End: links[links.length - 1],
      ArrowRight: item && one('ul [role=treeitem] > a', item), ArrowLeft: item && item.parentElement.closest('[role=treeitem]')?.querySelector('a') }[event.key];
    if (!to) return;
    event.preventDefault();
    for (const link of links) link.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  });
}
withTrees(document);

// The moment of a page: a slider that leads there when it is let go. At its end it stays at the end of the log.
function slide() {
  for (const range of all('input[type=range][data-moment]')) {
    const isAtEnd = range.value === range.max;
    range.max = seen;
    if (!isAtEnd) continue;
    range.value = seen;
    const out = range.form && one('output', range.form);
    if (out) out.textContent = seen;
  }
}
for (const range of all('input[type=range][data-moment]')) {
  const out = range.form && one('output', range.form);
  range.addEventListener('input', () => { if (out) out.textContent = range.value; });
  range.addEventListener('change', () => range.form.requestSubmit());
}

// Clocks: durations that the server wrote go on here, by its time and not by that of this machine.
const ahead = Date.now() - Number(root.dataset.now);
const UNITS = [[86400, 'd', 3600, 'h'], [3600, 'h', 60, 'm'], [60, 'm', 1, 's']];
function spell(ms) {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 10) return `${seconds}.${Math.floor(ms % 1000 / 100)} s`;
  const unit = UNITS.find(([large]) => seconds >= large);
  if (!unit) return `${seconds} s`;
  const [large, name, small, part] = unit;
  const rest = Math.floor(seconds % large / small);
  return `${Math.floor(seconds / large)} ${name}${rest ? ` ${rest} ${part}` : ''}`;
}
function tick() {
  if (document.hidden) return;
  const now = Date.now() - ahead;
  for (const clock of all('[data-since], [data-until]')) {
    const { since, until } = clock.dataset;
    const text = spell(Math.max(0, since ? now - since : until - now));
    if (clock.textContent !== text) clock.textContent = text;
  }
}
if (root.hasAttribute('data-live')) setInterval(tick, 1000);

follow();
