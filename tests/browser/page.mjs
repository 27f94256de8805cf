// SPDX-License-Identifier: Apache-2.0
// Uses a page of `gnomon render` the way a person does, in a headless Chromium driven over its
// debugging pipe (nothing but node is needed):
//
//   node tests/browser/page.mjs app.html [SCREENSHOT_DIR]
//
// Fails on any console error, exception or request, on what does not react, and where PAGE_MS is
// set, when opening the page or anything done in it takes longer.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';

const [page, shots] = process.argv.slice(2);
const dir = mkdtempSync(join(tmpdir(), 'gnomon-browser-'));
const child = spawn(process.env.CHROMIUM || 'chromium', ['--headless', '--no-sandbox',
  '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', `--user-data-dir=${dir}`,
  '--remote-debugging-pipe', '--window-size=1400,900', 'about:blank'],
  {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
const waiting = new Map(), problems = [], requests = [];
let next = 1, session, rest = '', failures = 0;

child.stdio[4].on('data', data => {
  const parts = (rest + data).split('\0');
  rest = parts.pop();
  for (const part of parts) {
    const m = JSON.parse(part);
    if (m.id) {
      const {ok, bad} = waiting.get(m.id);
      waiting.delete(m.id);
      if (m.error) bad(new Error(m.error.message)); else ok(m.result);
    } else if (m.method === 'Runtime.exceptionThrown') {
      problems.push(m.params.exceptionDetails.exception?.description || m.params.exceptionDetails.text);
    } else if (m.method === 'Log.entryAdded' && m.params.entry.level === 'error') {
      problems.push(m.params.entry.text);
    } else if (m.method === 'Runtime.consoleAPICalled' && m.params.type === 'error') {
      problems.push('console.error');
    } else if (m.method === 'Network.requestWillBeSent') {
      requests.push(m.params.request.url);
    }
  }
});

const send = (method, params = {}) => new Promise((ok, bad) => {
  waiting.set(next, {ok, bad});
  child.stdio[3].write(JSON.stringify({id: next++, sessionId: session, method, params}) + '\0');
});
const sleep = ms => new Promise(r => setTimeout(r, ms));
const evaluate = async expression => {
  const r = await send('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
  if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description || expression);
  return r.result.value;
};
const key = async k => {
  await evaluate(`document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: ${JSON.stringify(k)}, bubbles: true}))`);
};
const click = async (x, y) => {
  for (const type of ['mouseMoved', 'mousePressed', 'mouseReleased'])
    await send('Input.dispatchMouseEvent', {type, x, y, button: 'left', clickCount: 1});
};
const limit = Number(process.env.PAGE_MS || 0);
const took = (what, start) => {
  const ms = Date.now() - start;
  check(`${what} in ${ms} ms`, !limit || ms <= limit);
};
const check = (what, ok) => {
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${what}`);
  failures += !ok;
};
let shot = 0;
const picture = async name => {
  if (!shots) return;
  const r = await send('Page.captureScreenshot', {format: 'png'});
  writeFileSync(join(shots, `${shot++}-${name}.png`), Buffer.from(r.data, 'base64'));
};
// What the canvas shows, as a number that changes with it.
const canvas = () => evaluate(`(() => { const c = document.getElementById('graph');
  const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let h = 0;
  for (let i = 0; i < d.length; i += 4) h = h * 31 + d[i] + d[i + 1] * 7 + d[i + 2] * 3 | 0; return h; })()`);
const text = id => evaluate(`document.getElementById('${id}').textContent`);

async function open() {
  const {targetInfos} = await send('Target.getTargets');
  const target = targetInfos.find(t => t.type === 'page');
  session = (await send('Target.attachToTarget', {targetId: target.targetId, flatten: true})).sessionId;
  for (const d of ['Page', 'Runtime', 'Log', 'Network']) await send(`${d}.enable`);
  const start = Date.now();
  await send('Page.navigate', {url: 'file://' + resolve(page)});
  for (let i = 0; i < 600; i++) {
    if (await evaluate('document.documentElement.dataset.ready || ""').catch(() => '')) break;
    await sleep(20);
  }
  took('opened', start);
}

async function use() {
  await picture('open');
  const first = await canvas(), width = await evaluate('innerWidth');
  const top = await evaluate("document.getElementById('graph').getBoundingClientRect().top");
  check('something is drawn', first !== 0 && await evaluate("document.getElementById('empty').hidden"));
  await send('Input.dispatchMouseEvent', {type: 'mouseMoved', x: width / 2, y: top + 30});
  check('a tooltip shows', await evaluate("!document.getElementById('tip').hidden && document.getElementById('tip').textContent.includes('%')"));
  let start = Date.now();
  await click(width / 3, top + 19 + 8);
  const zoomed = await canvas();
  took('zoomed', start);
  check('a click zooms', zoomed !== first && (await text('crumbs')).includes('›'));
  check('the stack is shown as text', (await text('detail')).includes('\n'));
  await picture('zoomed');
  await key('Escape'); await key('Escape');
  await send('Input.dispatchMouseEvent', {type: 'mouseMoved', x: 5, y: 5});
  check('escape goes back', await canvas() === first);
  await key('ArrowDown'); await key('ArrowDown');
  check('arrows select', await canvas() !== first && (await text('detail')).includes('['));
  await key('Escape');
  await evaluate("(() => { const s = document.getElementById('search'); s.value = 'a'; s.dispatchEvent(new Event('input')); })()");
  await sleep(400);
  check('search marks and sums', /%/.test(await text('found')) && await canvas() !== first);
  await picture('search');
  await evaluate("(() => { const s = document.getElementById('search'); s.value = '((('; s.dispatchEvent(new Event('input')); })()");
  await sleep(300);
  check('a bad expression is taken literally', /^(A )?0/.test(await text('found')));
  await key('Escape');
  for (const [k, name] of [['2', 'wall'], ['3', 'off'], ['1', 'cpu']]) {
    start = Date.now();
    await key(k);
    await canvas();
    took(name, start);
    await picture(name);
  }
  await key('2');
  await key('i');
  check('flames stand up', await canvas() !== first);
  await picture('flame');
  await key('i');
  for (const by of ['group', 'thread', 'state']) {
    start = Date.now();
    await evaluate(`(() => { const s = document.getElementById('split'); s.value = '${by}'; s.dispatchEvent(new Event('change')); })()`);
    await canvas();
    took(`split by ${by}`, start);
    await picture('by-' + by);
  }
  await evaluate("(() => { const s = document.getElementById('split'); s.value = ''; s.dispatchEvent(new Event('change')); })()");
  start = Date.now();
  await key('r');
  await canvas();
  took('callers', start);
  check('callers are drawn', await evaluate("document.getElementById('empty').hidden"));
  await picture('callers');
  await key('r');
  await key('d');
  await picture('dark');
  await key('d');
  await evaluate("document.querySelector('#states button').click()");
  check('a state can be left out', await evaluate("document.querySelector('#states button').getAttribute('aria-pressed') === 'false'"));
  await evaluate("document.querySelector('#states button').click()");
  await evaluate("(() => { const s = document.getElementById('thread'); s.selectedIndex = s.options.length - 1; s.dispatchEvent(new Event('change')); })()");
  await picture('thread');
}

// Dragging over the timeline leaves the time in between.
async function useTimeline() {
  const box = JSON.parse(await evaluate("JSON.stringify(document.getElementById('tl').getBoundingClientRect())"));
  await key('2');
  await evaluate("(() => { const s = document.getElementById('thread'); s.selectedIndex = 0; s.dispatchEvent(new Event('change')); })()");
  await send('Input.dispatchMouseEvent', {type: 'mouseMoved', x: 5, y: 5});
  const all = await text('detail'), x = f => box.x + 190 + (box.width - 190) * f, y = box.y + 30;
  await send('Input.dispatchMouseEvent', {type: 'mousePressed', x: x(.5), y, button: 'left', clickCount: 1});
  await send('Input.dispatchMouseEvent', {type: 'mouseMoved', x: x(.75), y, button: 'left'});
  await send('Input.dispatchMouseEvent', {type: 'mouseReleased', x: x(.75), y, button: 'left', clickCount: 1});
  const part = await text('detail');
  check(`a range of time is chosen: ${all.trim()} -> ${part.trim()}`, part !== all);
  check('the range is said', /s –.*s/.test(await text('crumbs')));
  await picture('range');
  await key('Escape');
  check('escape takes all of the time again', await text('detail') === all);
}

try {
  await open();
  await use();
  if (await evaluate("!document.getElementById('timeline').hidden")) await useTimeline();
  check('no errors: ' + problems.join('; '), !problems.length);
  check('no requests', requests.every(u => u.startsWith('file://') || u.startsWith('blob:') || u.startsWith('data:')));
} catch (e) {
  console.log('FAIL', e.stack);
  failures++;
} finally {
  child.kill();
  await new Promise(r => child.once('exit', r));
  for (let i = 0; i < 20; i++) { // its helpers write for a moment longer
    try { rmSync(dir, {recursive: true, force: true}); break; } catch { await sleep(100); }
  }
}
process.exit(failures ? 1 : 0);
