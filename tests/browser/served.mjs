// SPDX-License-Identifier: Apache-2.0
// What the page tells of causes and of requests, on a recording of which all is known (served.c):
//
//   node tests/browser/served.mjs served.html [SCREENSHOT_DIR]
import * as b from './browser.mjs';
import {box, canvas, check, frameAt, frames, get, is, picture, press, rowAt, run, search, set, text} from './checks.mjs';

const [file, shots] = process.argv.slice(2);
const S = 1e6, MS = 1e3;
const HOSTILE = "POST /<script>document.title='owned'</script>";
const total = () => get('Math.round(gnomon.tree().total[0])');
const other = () => get('Math.round(gnomon.tree().other[0])');
const names = async () => (await frames()).filter(f => !f.folded).map(f => f.name);
const rowNames = () => get('gnomon.TL.rows.map(r => r.name)');
const tip = () => get("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent");
const open = (hash = '') => b.open(file, hash);
const tabs = () => get("[...document.querySelectorAll('#tabs button')].map(t => t.textContent)");
const cells = (id, n) => get(`[...document.querySelectorAll('#${id} tr')[${n}].children].map(c => c.firstChild ? c.innerText || '' : '')`);
const chosen = () => get("[...document.querySelectorAll('#limits button')].map(x => x.textContent)");
// Stacks of the tree, outermost first, with their time.
const stacks = () => get(`(() => { const t = gnomon.tree(), out = {}, go = (n, path) => { const kids = t.kids(n), p = n ? [...path, gnomon.data.names[t.frame[n]]] : path;
  if (!kids.length) out[p.join(' / ')] = Math.round(t.total[n]); for (const k of kids) go(k, p); }; go(0, []); return out; })()`).then(sorted);
const sorted = o => Object.fromEntries(Object.entries(o).sort());

const TAIL = 'java.lang.Thread.run';
const DEAD = ['A', 'B', 'C'].map((_, i, all) => [0, 1, 2].map(k => `(monitor) app.${all[(i + k) % 3]} / [d-${(i + k + 1) % 3 + 1}]`).join(` / ${TAIL} / app.Dead.lock / `) + ' / [deadlock]');
const CHAIN = `(monitor) app.Db / [boss] / ${TAIL} / app.Boss.work`;

async function causes() {
  await open();
  is('there are both tabs', await tabs(), ['Flame graph', 'Causes', 'Requests', 'Methods']);
  await press('w');
  is('w: the waits, by cause', await get('[gnomon.S.tab, gnomon.S.dim, gnomon.S.split]'), ['causes', 2, 'cause']);
  is('by what they wait for', (await get("gnomon.tree().kids(0).map(k => gnomon.data.names[gnomon.tree().frame[k]])")).sort(),
    ['(CPU) stress', '(TCP) 10.0.0.7:5432', '(cause not known)', '(monitor) app.A', '(monitor) app.B', '(monitor) app.C', '(monitor) app.Cart', '(monitor) app.Db', '(monitor) app.T', '(sleep)']);
  await picture('causes');
  await set('split', '');
  is('in all, from the waiting method to what owners did', await stacks(), sorted({
    ...Object.fromEntries(DEAD.map(d => [`${TAIL} / app.Dead.lock / ${d}`, 9.96 * S])),
    [`${TAIL} / app.Dead.lock / (monitor) app.T / [twin] / ${TAIL} / app.Twin.sleep`]: 2 * S,
    [`${TAIL} / app.Twin.sleep`]: 2 * 9.96 * S,
    [`${TAIL} / app.Cart.refresh / ${CHAIN}`]: 9.96 * S,
    [`${TAIL} / app.Shop.serve / app.Cart.items / (monitor) app.Cart / [keeper] / ${TAIL} / app.Cart.refresh / ${CHAIN}`]: 3.6 * S,
    [`${TAIL} / app.Shop.serve / app.Database.read / (TCP) 10.0.0.7:5432`]: 2.4 * S,
    [`${TAIL} / app.Shop.serve / app.Order.book / (CPU) stress`]: 1 * S,
    [`${TAIL} / app.Mail.send`]: .4 * S,
  }));
  is('what is waited for is not folded', (await names()).filter(n => n === '[keeper]' || n === '(monitor) app.Cart').length, 2);
  is('the address has the tab', await get('location.hash'), '#d=off&v=causes&p=none');
  await picture('unsplit');
  await press('r');
  is('callers: what owners do is first', Math.round((await frameAt('app.Boss.work')).w / (await frames())[0].w * 1000), Math.round((9.96 + 3.6) / 69.16 * 1000));
  await press('r');
  await search('Boss');
  is('owners are searched, too', await text('found'), '19.6% · 13.56 s');
  await press('Escape');
  await set('thread', await get("[...document.querySelectorAll('#thread option')].find(o => o.textContent === 'http-1').value"));
  is('of one thread', await total(), Math.round(.9 * S + 10 * .06 * S + 5 * .1 * S));
  await press('Escape', 'w');
  is('w: back to what was looked at', await get('[gnomon.S.tab, gnomon.S.dim, gnomon.S.split]'), ['flame', 0, '']);
  await press('3');
  is('the flame graph ends at the cause', Object.keys(await stacks()).filter(s => s.includes('[')).length, 0);
  is('and has all of it', await total(), 69.16 * S);
  await press('m');
  is('methods, too, do without owners', await get("[...document.querySelectorAll('#methods-body tr')].some(r => r.textContent.includes('app.Boss.work'))"), false);
  await open('#v=causes&p=cause&q=Stock');
  is('a link to them', await get('[gnomon.S.tab, gnomon.S.dim, gnomon.S.split]'), ['causes', 2, 'cause']);
}

async function arrows() {
  await open('#d=wall');
  await b.click(60, (await rowAt('http-#', 0)).y);
  let r = await rowAt('http-1', 1.5 * S);
  const before = await canvas('tl');
  await b.hover(r.x, r.y);
  is('a wait tells its cause, and whom it waits for', await tip(), /^http-1BLOCKED for [89]\d\d ms.*waits for \(monitor\) app\.Cart {2}that keeper has, in Cart\.refreshwhich waits for \(monitor\) app\.Db {2}that boss has, in Boss\.work$/);
  check('with arrows to both', await get('gnomon.TL.arrows') === 2 && await canvas('tl') !== before);
  await picture('arrows');
  r = await rowAt('w-twin', 3 * S);
  await b.hover(r.x, r.y);
  is('of two threads of one name it is not said which', await tip(), /waits for \(monitor\) app\.T {2}that twin has \(one of 2 of that name\), in Twin\.sleep$/);
  is('and there is no arrow', await get('gnomon.TL.arrows'), 0);
  await b.evaluate("document.getElementById('tl-scroll').focus()");
  r = await rowAt('keeper', 5 * S);
  await b.hover(r.x, r.y);
  await press('o');
  is('o: to the owner, at the same time', await tip(), /^bossRUNNING/);
  await b.click(60, (await rowAt('d-#', 0)).y);
  r = await rowAt('d-1', 5 * S);
  await b.hover(r.x, r.y);
  is('a deadlock is told', await tip(), /waits for \(monitor\) app\.A {2}that d-2 has, in Dead\.lock.*app\.C {2}that d-1 has.*a deadlock$/);
  await press('o');
  is('and can be walked round', await tip(), /^d-2/);
  await press('o', 'o');
  is('to where it began', await tip(), /^d-1/);
  r = await rowAt('http-1', .28 * S);
  await b.hover(r.x, r.y);
  is('IO tells its peer', await tip(), /waits for \(TCP\) 10\.0\.0\.7:5432$/);
  await press('o');
  is('which is no thread', await tip(), /^http-1/);
}

async function requests() {
  await open();
  await press('e');
  is('e: requests', [await get('gnomon.S.tab'), await text('requests-note')], ['requests', '50 requests to 2 endpoints were seen, by 630 samples. Wall times are right to 20 ms; of requests that are shorter, some were not seen.']);
  is('an endpoint: how many, how long, what they did', (await cells('endpoints-body', 0)).slice(0, 7),
    ['40', '100 ms', '1.00 s', '1.00 s', '1.60 s', '\n47% blocked, 32% waiting, 21% running'.trim(), 'GET /cart\n(monitor) app.Cart 47.4% · (TCP) 10.0.0.7:5432 31.6%']);
  is('another, whatever its name', (await cells('endpoints-body', 1)).slice(0, 7),
    ['10', '200 ms', '200 ms', '200 ms', '1.00 s', '42% running, 42% queued, 17% waiting', `${HOSTILE}\n(CPU) stress 41.7% · parked 16.7%`]);
  is('the slowest first', (await cells('slowest-body', 0)).slice(0, 6),
    ['1.00 s', '1.00 s', '90% blocked, 6% waiting, 4% running', 'http-1', 'GET /cart\n(monitor) app.Cart 90.0% · (TCP) 10.0.0.7:5432 6.00%', '00000000000000000000000000000005 0000000000000005']);
  is('of several threads', (await cells('slowest-body', 4))[3], /^http-[12] and 1 more$/);
  is('all that are told', await get("document.querySelectorAll('#slowest-body tr').length"), 50);
  await picture('requests');
  await press('2');
  is('all of the time is looked at', await total(), 81.76 * S);
  await b.evaluate("document.querySelectorAll('#endpoints-body tr')[0].click()");
  is('a click chooses an endpoint', [await total(), await chosen(), await get("document.querySelectorAll('#slowest-body tr').length")], [7.6 * S, ['GET /cart ✕'], 40]);
  is('its threads are on the timeline', await rowNames(), ['http-#']);
  await b.evaluate("document.querySelector('#endpoints-body button').click()");
  is('its flame graph', await stacks(), sorted({
    [`${TAIL} / app.Shop.serve / app.Cart.render`]: 1.6 * S,
    [`${TAIL} / app.Shop.serve / app.Database.read / (TCP) 10.0.0.7:5432`]: 2.4 * S,
    [`${TAIL} / app.Shop.serve / app.Cart.items / (monitor) app.Cart`]: 3.6 * S}));
  await picture('endpoint');
  await press('w');
  is('its causes', await total(), 6 * S);
  await press('w', 'Escape');
  is('Escape: of all', [await total(), await chosen(), (await rowNames()).length], [81.76 * S, [], 7]);
}

async function compared() {
  await open('#d=wall&v=requests');
  await b.evaluate("document.querySelectorAll('#endpoints-body tr')[0].querySelectorAll('button')[1].click()");
  is('slow ones against fast ones', [await get('gnomon.S.tab'), await total(), await other(), await chosen()], ['flame', 20 * 100 * MS, 4 * 1 * S, ['GET /cart, slow against fast ✕']]);
  const f = await frameAt('app.Cart.items');
  await b.hover(f.px, f.py);
  is('what only the slow ones do', await tip(), /^app\.Cart\.itemsfast 0 s a request, 0% {3}slow 900 ms a request, 90\.0%/);
  const g = await frameAt('app.Cart.render');
  await b.hover(g.px, g.py);
  is('and what both do', await tip(), /^app\.Cart\.renderfast 40 ms a request, 40\.0% {3}slow 40 ms a request, 4\.00%/);
  is('is told by colours', await text('legend'), 'less in slowmore in slow');
  await picture('compared');
  await search('items');
  is('and searched', await text('found'), 'fast 0% · slow 90.0%');
  await press('Escape');
  const hash = await get('location.hash');
  await open(hash);
  is(`the address brings it back: ${hash}`, [await total(), await other(), await get('location.hash')], [2 * S, 4 * S, hash]);
  await press('m');
  is('methods of both', (await get("[...document.querySelectorAll('#methods-body tr')].map(r => r.textContent)")).some(s => /fast 0% {2}slow 90\.0%app\.Cart\.items$/.test(s)), true);
}

async function one() {
  await open('#d=wall&v=requests');
  const order = await get(`gnomon.requests.told.findIndex(t => t.wall && t.trace.endsWith('0b'))`);
  await b.evaluate(`[...document.querySelectorAll('#slowest-body tr')].find(t => t.dataset.one == ${order}).click()`);
  is('one request: what its threads did', [await total(), (await rowNames()).sort()], [240 * MS, ['async-1', 'http-1']]);
  const [from, to] = await get('[gnomon.TL.from, gnomon.TL.to]');
  check(`on a timeline of its time: ${from / S} to ${to / S} s`, from > 4.8 * S && from < 5 * S && to > 5.19 * S && to < 5.3 * S);
  let r = await rowAt('async-1', 5.04 * S);
  await b.hover(r.x, r.y);
  is('each of them', await tip(), /^async-1PARKED for 40 ms.*2 samples/);
  r = await rowAt('http-1', 5.16 * S);
  await b.hover(r.x, r.y);
  is('and its states', await tip(), /^http-1QUEUED for \d+ ms.*waits for \(CPU\) stress$/);
  await picture('one');
  const hash = await get('location.hash');
  await open(hash);
  is(`the address brings it back: ${hash}`, [await total(), await chosen(), await get('location.hash')], [240 * MS, [`${HOSTILE}, 200 ms ✕`], hash]);
  await press('w');
  is('its causes', await stacks(), sorted({[`(CPU) stress / ${TAIL} / app.Shop.serve / app.Order.book / (CPU) stress`]: 100 * MS, [`(cause not known) / ${TAIL} / app.Mail.send`]: 40 * MS}));
  await press('Escape');
  is('Escape: all of the time', await get('[gnomon.TL.from, gnomon.TL.to === gnomon.TL.end]'), [0, true]);
}

async function keys() {
  await open('#d=wall');
  await press('e');
  await b.evaluate("document.querySelector('#endpoints-body tr').focus()");
  const at = () => get('(({endpoint, one}) => [endpoint, one])(document.activeElement.dataset)');
  await press('ArrowDown', 'ArrowDown');
  is('arrows go from row to row, and from table to table', (await at())[1] !== null, true);
  await press('Enter');
  is('Enter chooses', await total(), 1 * S);
  is('and stays there', (await at())[1] !== null, true);
  await press('Enter');
  is('and chooses all again', await total(), 81.76 * S);
  await press('ArrowUp', 'Enter');
  is('an endpoint', [await total(), await at()], [2.4 * S, ['1', null]]);
  await b.evaluate("document.querySelector('#endpoints-body tr[data-endpoint=\"1\"] button').focus()");
  await press('Enter');
  is('and its flame graph', await get('[gnomon.S.tab, gnomon.S.request]'), ['flame', {endpoint: 1}]);
  await press('e', 'e', 'w', 'e');
  is('from tab to tab', [await get('gnomon.S.tab'), await total()], ['requests', 2.4 * S]);
}

async function hostile() {
  await open('#v=requests');
  is('names are text', [await get('document.title'), await get("document.querySelectorAll('#requests script').length")], ['served.jfr · gnomon', 0]);
  await open(`#v=requests&e=${encodeURIComponent(HOSTILE)}&d=wall`);
  is('and chosen as any', await total(), 2.4 * S);
  await open('#d=wall&v=requests&e=__proto__&u=-1&c=1&p=constructor');
  is('a senseless link chooses none', [await total(), await chosen()], [81.76 * S, []]);
  await open('#d=wall&u=0&c=1');
  is('nor one of a number that many share', await total(), 81.76 * S);
}

async function looks() {
  for (const [width, height] of [[1400, 900], [760, 900]]) {
    await b.size(width, height);
    for (const theme of ['light', 'dark']) {
      await open('#d=wall&v=requests&e=GET+%2Fcart');
      if (await get('document.documentElement.dataset.theme') !== theme) await press('d');
      is(`${width} px, ${theme}: nothing is cut off`, await get('[document.documentElement.scrollWidth <= innerWidth, document.getElementById("requests").clientHeight > 150]'), [true, true]);
      await picture(`${width}-${theme}-requests`);
      await press('Escape', 'w');
      await picture(`${width}-${theme}-causes`);
    }
  }
}

await run(shots, async () => {
  await b.size(1400, 900);
  for (const test of [causes, arrows, requests, compared, one, keys, hostile, looks]) {
    console.log(`== ${test.name}`);
    await test();
  }
});
