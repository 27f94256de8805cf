// SPDX-License-Identifier: Apache-2.0
// What a page makes of its data, against sums made stack by stack:
//
//   node tests/browser/tree.mjs app.html
//
// The parts of the page's script that decode, build trees and weigh methods need no browser and are
// taken as they are.
import {readFileSync} from 'node:fs';
import {inflateSync} from 'node:zlib';

const page = readFileSync(process.argv[2], 'utf8');
function part(from, to) {
  const a = page.indexOf(from), b = page.indexOf(to);
  if (a < 0 || b < a) throw new Error(`the page has no '${from}' before '${to}'`);
  return page.slice(a, b);
}
const {decode, Forward, Reverse, leafOf} = new Function(part('// The recording as the page has it', '// What is looked at: the choices') +
  '; return {decode, Forward, Reverse, leafOf};')();
const methods = new Function('D', 'T', 'leafOf', part('// What never changes:', 'function methodsSorted') + '; return {weigh: methodsWeigh, states: methodStates};');
const head = JSON.parse(page.match(/<script id="head"[^>]*>([^<]*)</)[1]);
const data = page.match(/<script id="data"[^>]*>([^<]*)</)[1].trim();
const d = decode(new Uint8Array(inflateSync(Buffer.from(data, 'base64'))), head);
const c = d.cells, ones = new Float64Array(c.n), none = new Float64Array(c.n);
for (let i = 0; i < c.n; i++) (c.side[i] ? none : ones)[i] = c.us[i];

let failures = 0;
function check(what, ok) {
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${what}`);
  failures += !ok;
}

const isJava = n => [0, 1, 2, 6, 7].includes(d.types[d.base.frame[n]]);
const isMark = n => d.names[d.base.frame[n]].startsWith('(gnomon).') || d.types[d.base.frame[n]] === 9;
// Nodes of a cell's stack, leaf first; with fold, of a stack that has Java only its Java frames, and
// the recorder's marks.
function stackOf(i, fold) {
  const all = [];
  for (let n = c.node[i]; n > 0; n = d.base.parent[n]) all.push(n);
  return fold && all.some(isJava) ? all.filter(n => isJava(n) || isMark(n)) : all;
}

// "frame;frame;..." -> [total, self, total of the other side, time in each state], of all stacks
function bySum(label, reverse, fold) {
  const sums = new Map();
  const at = k => { if (!sums.has(k)) sums.set(k, [0, 0, 0, ...d.states.map(() => 0)]); return sums.get(k); };
  for (let i = 0; i < c.n; i++) {
    const path = stackOf(i, fold).map(n => d.names[d.base.frame[n]] + '/' + d.types[d.base.frame[n]]);
    if (!reverse) path.reverse();
    if (label) path.unshift(label(i) + '/8');
    for (let k = 0; k <= path.length; k++) {
      const s = at(path.slice(0, k).join(';'));
      s[0] += ones[i]; s[2] += none[i]; s[3 + c.state[i]] += ones[i] + none[i];
    }
    at(path.join(';'))[1] += ones[i];
  }
  return sums;
}

function byTree(t) {
  const sums = new Map(), todo = [[0, '']];
  while (todo.length) {
    const [n, key] = todo.pop(), kids = t.kids(n);
    if (sums.has(key)) throw new Error(`twice: ${key}`);
    sums.set(key, [t.total[n], t.self[n], t.other[n], ...t.states(n)]);
    for (const k of kids) {
      const name = d.names[t.frame[k]] + '/' + d.types[t.frame[k]];
      todo.push([k, key ? key + ';' + name : name]);
    }
  }
  return sums;
}

const near = (a, b) => Math.abs(a - b) <= 1e-6 * Math.abs(b) + 1e-3;
function compare(what, want, got) {
  let bad = want.size !== got.size ? `${got.size} nodes` : '';
  for (const [k, sums] of want) {
    const found = got.get(k) || [];
    if (!bad && sums.some((x, i) => !near(found[i], x))) bad = `${k || 'all'}: ${found} is not ${sums}`;
  }
  check(`${what}: ${want.size} nodes ${bad}`, !bad);
}

function compareMethods(fold) {
  const t = {w: [ones, none], fold, diff: head.diff}, m = methods(d, t, leafOf), {sides} = m.weigh();
  const self = [new Map(), new Map()], total = [new Map(), new Map()], states = new Map();
  const add = (map, k, us) => map.set(k, (map.get(k) || 0) + us);
  for (let i = 0; i < c.n; i++) {
    const s = stackOf(i, fold).map(n => d.base.frame[n]);
    add(self[c.side[i]], s[0], c.us[i]);
    for (const f of new Set(s)) { add(total[c.side[i]], f, c.us[i]); add(states, f + '/' + c.state[i], c.us[i]); }
  }
  let bad = 0;
  for (let f = 1; f < d.frames; f++) {
    for (let k = 0; k < 2; k++) bad += !near(sides[k].self[f], self[k].get(f) || 0) + !near(sides[k].total[f], total[k].get(f) || 0);
    if (f % 7 === 0) m.states(f).forEach((us, s) => { bad += !near(us, states.get(f + '/' + s) || 0); });
  }
  check(`methods${fold ? ', Java only' : ''}: ${d.frames} of them, ${bad} sums differ`, !bad);
}

// Every tick of every cell has its time, and they are in order.
function compareTimes() {
  const t = d.times, ticks = new Float64Array(c.n);
  let bad = 0;
  for (let th = 0; th < d.threads.length; th++)
    for (let i = t.from[th]; i < t.from[th + 1]; i++) {
      ticks[t.cell[i]] += t.ticks[i];
      bad += c.thread[t.cell[i]] !== th || (i > t.from[th] && t.start[i] < t.start[i - 1]);
    }
  for (let i = 0; i < c.n; i++) bad += ticks[i] !== c.samples[i];
  check(`times: ${t.n} of ${c.n} cells, ${bad} are wrong`, !bad && t.n > 0);
}

// The totals that the recorder counted are those of the cells.
function compareTotals() {
  const us = d.states.map(() => [0, 0, 0]);
  for (let i = 0; i < c.n; i++) for (let k = 0; k < 3; k++) if (c.dims[i] & 1 << k) us[c.state[i]][k] += c.us[i];
  const ok = us.every((s, i) => s.every((x, k) => Math.abs(x - head.states_us[i][k]) <= c.n)) &&
    head.totals_us.every((x, k) => Math.abs(x - us.reduce((a, s) => a + s[k], 0)) <= c.n);
  check(`totals: ${JSON.stringify(head.totals_us)}`, ok);
}

const labels = {thread: i => d.threads[c.thread[i]], group: i => d.groups[d.groupOf[c.thread[i]]], state: i => d.states[c.state[i]]};
for (const fold of [false, true]) {
  const says = fold ? ', Java only' : '';
  compare('forward' + says, bySum(null, false, fold), byTree(new Forward(d, ones, none, {fold})));
  for (const by of Object.keys(labels))
    compare(`by ${by}${says}`, bySum(labels[by], false, fold), byTree(new Forward(d, ones, none, {label: labels[by], fold})));
  compare('callers' + says, bySum(null, true, fold), byTree(new Reverse(d, ones, none, {fold})));
  compareMethods(fold);
}
// And with what owners of locks did: the Causes tab.
if (c.below !== c.cut) {
  Object.assign(c, {node: c.below, java: c.belowJava});
  for (const fold of [false, true]) compare('owners' + (fold ? ', Java only' : ''), bySum(null, false, fold), byTree(new Forward(d, ones, none, {fold})));
  compare('owners first', bySum(null, true, true), byTree(new Reverse(d, ones, none, {fold: true})));
  check('owners are told', d.names.some((name, f) => d.types[f] === 9 && /^\[.*\]$/.test(name)));
}
compareTotals();
if (!head.diff) compareTimes();
process.exit(failures ? 1 : 0);
