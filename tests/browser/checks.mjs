// SPDX-License-Identifier: Apache-2.0
// What the tests of pages share: checks, and a page as one uses it.
import {join} from 'node:path';
import * as b from './browser.mjs';

let failures = 0, shots = '', shot = 0;

export function check(what, ok) {
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${what}`);
  failures += !ok;
}

export function is(what, got, want) {
  const same = want instanceof RegExp ? want.test(got) : JSON.stringify(got) === JSON.stringify(want);
  check(same ? what : `${what}: ${JSON.stringify(got)}, not ${want instanceof RegExp ? want : JSON.stringify(want)}`, same);
}

export const text = id => b.evaluate(`document.getElementById('${id}').textContent`);
export const get = expression => b.evaluate(`JSON.stringify(${expression})`).then(s => s && JSON.parse(s));
export const box = id => get(`document.getElementById('${id}').getBoundingClientRect()`);

// What the canvas shows, as a number that changes with it.
export const canvas = (id = 'graph') => b.evaluate(`(() => { const c = document.getElementById('${id}');
  const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let h = 0;
  for (let i = 0; i < d.length; i += 4) h = h * 31 + d[i] + d[i + 1] * 7 + d[i + 2] * 3 | 0; return h; })()`);

// Red, green and blue of a pixel of a canvas.
export const pixel = (id, x, y) => get(`[...document.getElementById('${id}').getContext('2d').getImageData(${Math.round(x)}, ${Math.round(y)}, 1, 1).data].slice(0, 3)`);

export function hue([r, g, bl]) {
  const max = Math.max(r, g, bl), d = max - Math.min(r, g, bl);
  if (!d) return -1;
  return (60 * (max === r ? (g - bl) / d : max === g ? 2 + (bl - r) / d : 4 + (r - g) / d) + 360) % 360;
}

export async function set(id, value, event = 'change') {
  await b.evaluate(`(() => { const s = document.getElementById('${id}'); s.value = ${JSON.stringify(value)}; s.dispatchEvent(new Event('${event}', {bubbles: true})); })()`);
}

export async function search(what) {
  await set('search', what, 'input');
  await b.sleep(250);
}

export async function press(...keys) { for (const k of keys) await b.key(k); }

// Frames as drawn: name, place, and of folded ones how many.
export const frames = () => get(`gnomon.frames().map(r => ({name: gnomon.data.names[gnomon.tree().frame[r.n]], n: r.n, x: r.x, y: r.y, w: r.w, folded: r.run ? r.run.length : 0}))`);

export async function frameAt(name) {
  const r = (await frames()).find(f => !f.folded && f.name === name), g = await box('graph');
  if (!r) throw new Error(`no frame ${name}`);
  return {...r, px: g.x + r.x + Math.min(r.w / 2, 40), py: g.y + r.y + 9};
}

// A row of the timeline, which is scrolled to, and where a time of it is on the screen.
export async function rowAt(name, us) {
  const r = await get(`(() => { const r = gnomon.TL.rows.find(r => r.name === ${JSON.stringify(name)}); return r && {y: r.y, h: r.h}; })()`);
  if (!r) throw new Error(`no row ${name}`);
  const moved = await get(`(s => { const was = s.scrollTop, room = s.clientHeight - gnomon.fixed();
    s.scrollTop = Math.max(Math.min(was, ${r.y}), ${r.y + r.h} - room);
    return s.scrollTop !== was; })(document.getElementById('tl-scroll'))`);
  if (moved) await b.sleep(100);
  const tl = await box('tl'), [top, from, to, width] = await get(`(s => [gnomon.fixed() - s.scrollTop, gnomon.TL.from, gnomon.TL.to, s.clientWidth])(document.getElementById('tl-scroll'))`);
  return {x: tl.x + 200 + (us - from) / (to - from) * (width - 200), y: tl.y + top + r.y + r.h / 2, top: top + r.y, h: r.h};
}

export async function picture(name) {
  if (shots) await b.picture(join(shots, `${String(shot++).padStart(2, '0')}-${name}.png`));
}

// Runs the tests in a browser; the exit code says whether all was well.
export async function run(directory, tests) {
  shots = directory;
  await b.start();
  try {
    await tests();
    check('no errors ' + b.problems.join('; '), !b.problems.length);
    check('no requests', b.requests.every(u => /^(file|blob|data|about):/.test(u)));
  } catch (e) {
    console.log('FAIL', e.stack);
    failures++;
  } finally {
    await b.stop();
  }
  process.exit(failures ? 1 : 0);
}
