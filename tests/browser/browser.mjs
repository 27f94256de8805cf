// SPDX-License-Identifier: Apache-2.0
// A headless Chromium, driven over its debugging pipe: nothing but node is needed.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';

const waiting = new Map(), dir = mkdtempSync(join(tmpdir(), 'gnomon-browser-'));
let child, next = 1, session, rest = '';

export const problems = [], requests = [];

function heard(m) {
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

export const send = (method, params = {}) => new Promise((ok, bad) => {
  waiting.set(next, {ok, bad});
  child.stdio[3].write(JSON.stringify({id: next++, sessionId: session, method, params}) + '\0');
});
export const sleep = ms => new Promise(r => setTimeout(r, ms));

export async function evaluate(expression) {
  const r = await send('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
  if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description || expression);
  return r.result.value;
}

export async function start(width = 1400, height = 900) {
  child = spawn(process.env.CHROMIUM || 'chromium', ['--headless', '--no-sandbox',
    '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', `--user-data-dir=${dir}`, '--hide-scrollbars=0',
    '--remote-debugging-pipe', `--window-size=${width},${height}`, 'about:blank'],
    {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
  child.stdio[4].on('data', data => {
    const parts = (rest + data).split('\0');
    rest = parts.pop();
    parts.forEach(p => heard(JSON.parse(p)));
  });
  const {targetInfos} = await send('Target.getTargets');
  const target = targetInfos.find(t => t.type === 'page');
  session = (await send('Target.attachToTarget', {targetId: target.targetId, flatten: true})).sessionId;
  for (const d of ['Page', 'Runtime', 'Log', 'Network']) await send(`${d}.enable`);
  await send('Performance.enable', {timeDomain: 'threadTicks'});
}

export async function stop() {
  child.kill();
  await new Promise(r => child.once('exit', r));
  for (let i = 0; i < 20; i++) { // its helpers write for a moment longer
    try { rmSync(dir, {recursive: true, force: true}); break; } catch { await sleep(100); }
  }
}

// Opens a page of ours and waits until it is drawn; hash: what it looks at.
export async function open(file, hash = '') {
  await send('Page.navigate', {url: 'about:blank'});
  await send('Page.navigate', {url: 'file://' + resolve(file) + hash});
  for (let i = 0; i < 3000; i++) {
    if (await evaluate('document.documentElement.dataset.ready || ""').catch(() => '')) return;
    await sleep(20);
  }
  throw new Error(`${file} does not open`);
}

// CPU time of the page's thread so far.
export async function threadMs() {
  return 1000 * (await send('Performance.getMetrics')).metrics.find(m => m.name === 'ThreadTime').value;
}

export const size = (width, height) => send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});

// A key as the keyboard sends it, to whatever has the focus.
export async function key(k) {
  const text = k.length === 1 ? k : k === 'Enter' ? '\r' : undefined;
  await send('Input.dispatchKeyEvent', {type: text ? 'keyDown' : 'rawKeyDown', key: k, text, windowsVirtualKeyCode: {Enter: 13, Escape: 27, ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37, ArrowRight: 39, Tab: 9}[k]});
  await send('Input.dispatchKeyEvent', {type: 'keyUp', key: k});
}

const mouse = (type, x, y, more = {}) => send('Input.dispatchMouseEvent', {type, x, y, ...more});
export const hover = (x, y) => mouse('mouseMoved', x, y);
export async function click(x, y, clickCount = 1) {
  await hover(x, y);
  for (let n = 1; n <= clickCount; n++) {
    await mouse('mousePressed', x, y, {button: 'left', clickCount: n});
    await mouse('mouseReleased', x, y, {button: 'left', clickCount: n});
  }
}
export async function drag(x0, y0, x1, y1) {
  await hover(x0, y0);
  await mouse('mousePressed', x0, y0, {button: 'left', clickCount: 1});
  await mouse('mouseMoved', (x0 + x1) / 2, y0, {button: 'left', buttons: 1});
  await mouse('mouseMoved', x1, y1, {button: 'left', buttons: 1});
  await mouse('mouseReleased', x1, y1, {button: 'left', clickCount: 1});
}

export async function picture(file) {
  const r = await send('Page.captureScreenshot', {format: 'png'});
  writeFileSync(file, Buffer.from(r.data, 'base64'));
}
