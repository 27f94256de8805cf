// SPDX-License-Identifier: Apache-2.0
// Uses any page of `gnomon render` or `gnomon diff` the way a person does, and tells how long each
// thing took until it was drawn, by the page's own clock, and how much CPU time of its thread:
//
//   node tests/browser/page.mjs app.html [SCREENSHOT_DIR]
//
// Fails on any console error, exception or request, on what does not react, and where OPENS_MS or
// ACTS_MS is set, when opening the page or anything done in it takes longer.
import * as b from './browser.mjs';
import {box, canvas, check, get, picture, press, run, text} from './checks.mjs';

const [file, shots] = process.argv.slice(2);
const opens = Number(process.env.OPENS_MS || 0), acts = Number(process.env.ACTS_MS || 0);
const has = id => b.evaluate(`!document.getElementById('${id}').hidden`);

// In the page: does it, has it drawn (reading a canvas back waits for that), returns the ms.
async function timed(what, code) {
  const before = await b.threadMs(), ms = await b.evaluate(`(() => { const t = performance.now(); ${code};
    for (const id of ['graph', 'tl']) { const c = document.getElementById(id); if (c.width && c.height) c.getContext('2d').getImageData(0, 0, 1, 1); }
    document.body.offsetHeight;
    return performance.now() - t; })()`);
  check(`${what}: ${ms.toFixed(0)} ms (CPU ${(await b.threadMs() - before).toFixed(0)} ms)`, !acts || ms <= acts);
}
const key = k => `document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: ${JSON.stringify(k)}, bubbles: true}))`;
const choose = (id, value) => `{ const s = document.getElementById('${id}'); s.value = ${JSON.stringify(value)}; s.dispatchEvent(new Event('change')); }`;
const move = (id, x, y, type = 'mousemove') => `{ const c = document.getElementById('${id}'), r = c.getBoundingClientRect();
  c.dispatchEvent(new ${type.startsWith('pointer') ? 'PointerEvent' : 'MouseEvent'}('${type}', {bubbles: true, clientX: r.x + ${x}, clientY: r.y + ${y}, pointerId: 1})); }`;

async function opened() {
  await b.open(file, '#d=wall');
  const ms = +await b.evaluate('document.documentElement.dataset.ready');
  check(`opened: ${ms} ms (CPU ${(await b.threadMs()).toFixed(0)} ms)`, !opens || ms <= opens);
  check('something is drawn', await canvas() !== 0 && !await has('empty'));
  await picture('open');
}

async function graph() {
  const first = await canvas(), g = await box('graph');
  await b.hover(g.x + g.width / 2, g.y + 30);
  check('a tooltip shows', await has('tip') && (await text('tip')).includes('%'));
  await timed('hover', move('graph', g.width / 2 + 9, 50));
  await timed('zoom', move('graph', g.width / 2, 30, 'click'));
  check('a click zooms', await canvas() !== first && (await text('crumbs')).includes('›'));
  check('the stack is shown as text', (await text('detail')).includes('\n'));
  await picture('zoomed');
  await press('Escape', 'Escape');
  await b.hover(5, 5);
  check('escape goes back', await canvas() === first);
  await timed('arrow', key('ArrowDown'));
  check('arrows select', await canvas() !== first && (await text('detail')).includes('['));
  await press('Escape');
}

async function views() {
  for (const [k, name] of [['1', 'CPU'], ['3', 'off CPU'], ['2', 'wall'], ['j', 'native frames'], ['j', 'Java only'], ['t', 'trunks'], ['t', 'trunks folded'],
    ['i', 'flames'], ['i', 'icicles'], ['x', 'idle shown'], ['x', 'idle left out'], ['d', 'dark'], ['d', 'light'], ['r', 'callers']]) await timed(name, key(k));
  check('callers are drawn', !await has('empty'));
  await picture('callers');
  await press('r');
  for (const by of ['group', 'thread', 'state']) {
    await timed(`split by ${by}`, choose('split', by));
    await picture('by-' + by);
  }
  await timed('split by nothing', choose('split', ''));
  await timed('a state left out', "document.querySelector('#states button').click()");
  await timed('and shown again', "document.querySelector('#states button').click()");
  const first = await canvas();
  // as the field does, but at once
  await timed('search', "gnomon.search('a')");
  check('search marks and sums', /%/.test(await text('found')) && await canvas() !== first);
  await picture('search');
  await timed('search ended', "gnomon.search('')");
  await timed('methods', key('m'));
  check('methods are listed', await get("document.querySelectorAll('#methods-body tr').length > 5"));
  await picture('methods');
  await timed('methods by total', "document.querySelector('#methods th[data-sort=total]').click()");
  await timed('a method', "document.querySelectorAll('#methods-body tr')[3].click()");
  await timed('the page as it was', "gnomon.go('d=wall')");
}

async function timeline() {
  const t = await box('tl'), width = t.width - 200, fixed = await get('gnomon.fixed()');
  const row = kind => get(`(r => r ? gnomon.fixed() + r.y + r.h / 2 - document.getElementById('tl-scroll').scrollTop : -1)(gnomon.TL.rows.find(r => r.kind === '${kind}'))`);
  await timed('lanes', move('tl', 200 + width / 3, fixed - 10, 'pointermove'));
  const group = await row('group');
  if (group >= 0) {
    await timed('hover on a pool', move('tl', 200 + width / 3, group, 'pointermove'));
    await timed('unfold a pool', move('tl', 50, group, 'pointerup'));
    await picture('unfolded');
    await timed('scroll', "document.getElementById('tl-scroll').scrollTop = gnomon.TL.height / 2; gnomon.timelineDraw(); document.getElementById('tl-scroll').scrollTop = 0");
  }
  const thread = await row('thread');
  for (const f of [.3, .5, .7]) await timed('hover on a segment', move('tl', 200 + width * f, thread, 'pointermove'));
  await timed('a segment', move('tl', 200 + width / 2, thread, 'pointerup'));
  check('its thread and time are chosen', /✕.*✕/.test(await text('crumbs')));
  await timed('all of the time', key('Escape'));
  await timed('all threads', key('Escape'));
  await timed('a part of the time', 'gnomon.S.range = [gnomon.TL.end * .3, gnomon.TL.end * .6]; gnomon.reweigh()');
  await picture('range');
  await timed('all of it', key('Escape'));
  await timed('time spread', 'gnomon.spread(gnomon.TL.end / 2, .2)');
  await timed('all of it again', 'gnomon.spread(gnomon.TL.end / 2, 10)');
  await timed('a search on it', "gnomon.search('1')");
  await timed('and its end', "gnomon.search('')");
  await timed('a pool chosen', choose('thread', await get("document.querySelectorAll('#thread option')[1].value")));
  await timed('a thread chosen', choose('thread', await get("[...document.querySelectorAll('#thread option')].pop().value")));
}

await run(shots, async () => {
  await b.size(1400, 900);
  await opened();
  await graph();
  await views();
  if (await has('timeline')) await timeline();
});
