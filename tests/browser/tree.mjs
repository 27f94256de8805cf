// SPDX-License-Identifier: Apache-2.0
// The trees of a page, unfolded in full, against sums made stack by stack:
//
//   node tests/browser/tree.mjs app.html
//
// The part of the page's script that decodes and builds trees needs no browser and is taken as is.
import {readFileSync} from 'node:fs';
import {inflateSync} from 'node:zlib';

const page = readFileSync(process.argv[2], 'utf8');
const from = page.indexOf('function decode(buf)'), to = page.indexOf('// ---- state of the page');
if (from < 0 || to < from) throw new Error('the page has no such script');
const {decode, Forward, Reverse} =
  new Function(page.slice(from, to) + '; return {decode, Forward, Reverse};')();
const data = page.match(/<script id="data"[^>]*>([^<]*)</)[1].trim();
const d = decode(new Uint8Array(inflateSync(Buffer.from(data, 'base64'))));
const c = d.cells, ones = new Float64Array(c.n), none = new Float64Array(c.n);
for (let i = 0; i < c.n; i++) (c.side[i] ? none : ones)[i] = c.us[i];

// "frame;frame;..." -> [total, self, total of the other side], of all stacks
function bySum(label, reverse) {
  const sums = new Map();
  const add = (k, i, w) => { if (!sums.has(k)) sums.set(k, [0, 0, 0]); sums.get(k)[i] += w; };
  for (let i = 0; i < c.n; i++) {
    const path = [];
    for (let n = c.node[i]; n > 0; n = d.base.parent[n]) path.push(d.names[d.base.frame[n]] + '/' + d.types[d.base.frame[n]]);
    if (!reverse) path.reverse();
    if (label) path.unshift(label(i) + '/8');
    for (let k = 0; k <= path.length; k++) {
      add(path.slice(0, k).join(';'), 0, ones[i]);
      add(path.slice(0, k).join(';'), 2, none[i]);
    }
    add(path.join(';'), 1, ones[i]);
  }
  return sums;
}

function byTree(t) {
  const sums = new Map(), todo = [[0, '']];
  while (todo.length) {
    const [n, key] = todo.pop(), kids = t.kids(n);
    if (sums.has(key)) throw new Error(`twice: ${key}`);
    sums.set(key, [t.total[n], t.self[n], t.other[n]]);
    for (const k of kids) {
      const name = d.names[t.frame[k]] + '/' + d.types[t.frame[k]];
      todo.push([k, key ? key + ';' + name : name]);
    }
  }
  return sums;
}

let failures = 0;
function compare(what, want, got) {
  let bad = want.size !== got.size;
  for (const [k, sums] of want) {
    const found = got.get(k) || [-1, -1, -1];
    if (sums.some((x, i) => Math.abs(found[i] - x) > 1e-6 * x + 1e-3)) bad = bad || k || 'all';
  }
  console.log(`${bad ? 'FAIL' : 'ok  '} ${what}: ${want.size} nodes${bad ? ', first at ' + bad : ''}`);
  failures += !!bad;
}

const labels = {thread: i => d.threads[c.thread[i]], group: i => d.groups[c.thread[i]], state: i => d.states[c.state[i]]};
compare('forward', bySum(null, false), byTree(new Forward(d, ones, none)));
for (const by of Object.keys(labels))
  compare('by ' + by, bySum(labels[by], false), byTree(new Forward(d, ones, none, labels[by])));
compare('callers', bySum(null, true), byTree(new Reverse(d, ones, none)));
process.exit(failures ? 1 : 0);
