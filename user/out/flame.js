// SPDX-License-Identifier: Apache-2.0
'use strict';
// The page of `gnomon render`: one tree of calls, weighed anew for every choice of dimension,
// threads, states and time, and unfolded only as far as it is looked at.
(() => {
const $ = id => document.getElementById(id);
const head = JSON.parse($('head').textContent);
const ROW = 19, TL_ROW = 15, TL_NAME = 190, TL_AXIS = 20;
const DIM_LABEL = {cpu: 'CPU', wall: 'Wall', off: 'Off CPU'};
const TYPE_LABEL = ['interpreted', 'JIT (C2)', 'inlined', 'native', 'C++', 'kernel', 'C1', 'Java', 'group'];
const TYPE_HSL = [[52, 60], [146, 40], [181, 42], [8, 62], [30, 72], [268, 40], [92, 42], [146, 40], [215, 14]];
const STATE_HUE = {RUNNING: [146, 48], RUNNABLE: [120, 38], QUEUED: [0, 72], SLEEPING: [215, 14],
  PARKED: [225, 36], WAITING: [203, 40], BLOCKED: [22, 85], IO: [275, 45], IDLE: [215, 10, 16],
  IN_NATIVE: [46, 65]};

// ---- data ---------------------------------------------------------------------------------------

async function inflate(b64) {
  const text = atob(b64.trim()), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function decode(buf) {
  let at = 0;
  const utf8 = new TextDecoder();
  const num = () => {
    let v = 0, m = 1, b;
    do { b = buf[at++]; v += (b & 127) * m; m *= 128; } while (b & 128);
    return v;
  };
  const str = () => { const n = num(); at += n; return utf8.decode(buf.subarray(at - n, at)); };
  const d = {};
  let n = num();
  d.names = new Array(n); d.types = new Uint8Array(n);
  for (let i = 0; i < n; i++) { d.types[i] = buf[at++]; d.names[i] = str(); }
  n = num();
  const parent = new Int32Array(n), frame = new Int32Array(n);
  parent[0] = -1;
  for (let i = 1; i < n; i++) { parent[i] = i - num(); frame[i] = num(); }
  const end = new Int32Array(n); // of the nodes below, which follow it
  for (let i = n - 1; i > 0; i--) {
    end[i] = end[i] || i + 1;
    if (end[parent[i]] < end[i]) end[parent[i]] = end[i];
  }
  const tiers = num() ? new Uint8Array(TIERS * n) : null; // percent of each tier
  for (let i = 1; i < n && tiers; i++) {
    if (d.types[frame[i]] !== JAVA) continue;
    const tier = buf[at++];
    if (tier < TIERS) tiers[TIERS * i + tier] = 100;
    else if (tier > TIERS) { tiers.set(buf.subarray(at, at + TIERS), TIERS * i); at += TIERS; }
  }
  d.base = {n, parent, frame, end, tiers};
  n = num(); d.threads = []; d.groups = [];
  for (let i = 0; i < n; i++) { d.threads.push(str()); d.groups.push(str()); }
  n = num(); d.states = [];
  for (let i = 0; i < n; i++) d.states.push(str());
  n = num();
  const c = {n, node: new Int32Array(n), thread: new Int32Array(n), state: new Uint16Array(n),
    dims: new Uint8Array(n), side: new Uint8Array(n), us: new Float64Array(n), samples: new Float64Array(n)};
  for (let i = 0, node = 0; i < n; i++) {
    node += num();
    c.node[i] = node; c.thread[i] = num(); c.state[i] = num();
    const flags = buf[at++];
    c.dims[i] = flags & 7; c.side[i] = flags >> 3;
    c.us[i] = num(); c.samples[i] = num();
  }
  d.cells = c;
  n = num();
  const t = {n, start: new Float64Array(n), span: new Float64Array(n), cell: new Int32Array(n), ticks: new Float64Array(n)};
  for (let i = 0, start = 0; i < n; i++) {
    start += num();
    t.start[i] = start; t.span[i] = num(); t.cell[i] = num(); t.ticks[i] = num();
  }
  d.times = t;
  return d;
}

const JAVA = 7, GROUP = 8; // types of frames: a method of whatever tier; what is split by
const TIER_LABEL = ['interpreted', 'C1', 'C2', 'inlined'], TIERS = TIER_LABEL.length;

// ---- trees --------------------------------------------------------------------------------------

// What is looked at: the weight of every cell on both sides, after dimension, threads, states and
// time were chosen. Its trees grow only where they are looked into (kids()), as most of a large one
// is too narrow to be drawn. Node 0 is the root; a node comes after its parent.
class Tree {
  constructor(d, w, v) {
    Object.assign(this, {d, w: [w, v], parent: [-1], frame: [0], depth: [0], total: [0], other: [0],
      self: [0], below: [null], mix: [null]});
  }
  add(p, f, total, other) {
    this.parent.push(p); this.frame.push(f); this.depth.push(p < 0 ? 0 : this.depth[p] + 1);
    this.total.push(total); this.other.push(other); this.self.push(0); this.below.push(null); this.mix.push(null);
    return this.parent.length - 1;
  }
  // The children of n, made when first asked for.
  kids(n) {
    let k = this.below[n];
    if (!Array.isArray(k)) this.below[n] = k = this.grow(n, k);
    return k;
  }
}

// First index in a[lo..hi) whose value is not below x.
function lowerBound(a, lo, hi, x) {
  while (lo < hi) { const m = lo + hi >>> 1; if (a[m] < x) lo = m + 1; else hi = m; }
  return lo;
}

// From the outermost frame inwards, with a root of its own for each label if there are labels.
// Nodes of the base tree are numbered in the order of their stacks, so the cells below one of them
// are a range of the cells in that order, and its weight a difference of two sums.
class Forward extends Tree {
  constructor(d, w, v, label) {
    super(d, w, v);
    const c = d.cells, groups = new Map();
    for (let i = 0; i < c.n; i++) {
      if (!w[i] && !v[i]) continue;
      const l = label ? label(i) : '';
      let g = groups.get(l);
      if (!g) groups.set(l, g = []);
      g.push(i);
    }
    const tops = [];
    for (const [l, cells] of groups) {
      const g = this.group(cells), at = {g, b: 0, lo: 0, hi: cells.length};
      this.total[0] += g.a[at.hi]; this.other[0] += g.o[at.hi];
      if (!label) { this.below[0] = at; return; }
      const n = this.add(0, addFrame(d, l), g.a[at.hi], g.o[at.hi]);
      this.below[n] = at;
      tops.push(n);
    }
    this.below[0] = tops;
  }
  group(cells) {
    const n = cells.length, node = new Int32Array(n), a = new Float64Array(n + 1), o = new Float64Array(n + 1);
    for (let k = 0; k < n; k++) {
      node[k] = this.d.cells.node[cells[k]];
      a[k + 1] = a[k] + this.w[0][cells[k]]; o[k + 1] = o[k] + this.w[1][cells[k]];
    }
    return {node, a, o};
  }
  grow(n, {g, b, lo, hi}) {
    const {parent, frame, end, tiers} = this.d.base, kids = [];
    let k = lowerBound(g.node, lo, hi, b + 1);
    this.self[n] = g.a[k] - g.a[lo];
    while (k < hi) {
      let x = g.node[k];
      while (parent[x] !== b) x = parent[x];
      const to = lowerBound(g.node, k, hi, end[x]), kid = this.add(n, frame[x], g.a[to] - g.a[k], g.o[to] - g.o[k]);
      this.below[kid] = {g, b: x, lo: k, hi: to};
      if (tiers) this.mix[kid] = tiers.subarray(TIERS * x, TIERS * (x + 1));
      kids.push(kid);
      k = to;
    }
    return kids;
  }
}

// Leaf first: who called the methods that time is spent in. What lies below a node is a list of
// places in the base tree, with the weights of the stacks that lead there.
class Reverse extends Tree {
  constructor(d, w, v) {
    super(d, w, v);
    const c = d.cells, at = {node: [], a: [], o: []};
    for (let i = 0; i < c.n; i++) {
      if (!w[i] && !v[i]) continue;
      at.node.push(c.node[i]); at.a.push(w[i]); at.o.push(v[i]);
      this.total[0] += w[i]; this.other[0] += v[i];
    }
    this.below[0] = at;
    Reverse.place = Reverse.place || new Int32Array(d.base.n); // all zero between uses
  }
  grow(n, {node, a, o}) {
    const {parent, frame, tiers} = this.d.base, by = new Map(), place = Reverse.place, seen = [], kids = [];
    for (let i = 0; i < node.length; i++) {
      const x = node[i];
      if (!x) { this.self[n] += a[i]; continue; } // the stack ends here
      let g = by.get(frame[x]);
      if (!g) by.set(frame[x], g = {node: [], a: [], o: [], total: 0, other: 0, mix: new Float64Array(TIERS)});
      g.total += a[i]; g.other += o[i];
      for (let k = 0; k < TIERS && tiers; k++) g.mix[k] += (a[i] + o[i]) * tiers[TIERS * x + k];
      const p = parent[x];
      // stacks that go on in the same place are one, unless they came by different frames
      if (place[p] && g.node[place[p] - 1] === p) {
        g.a[place[p] - 1] += a[i]; g.o[place[p] - 1] += o[i];
        continue;
      }
      place[p] = g.node.push(p); g.a.push(a[i]); g.o.push(o[i]);
      seen.push(p);
    }
    for (const p of seen) place[p] = 0;
    for (const [f, g] of by) {
      const kid = this.add(n, f, g.total, g.other);
      this.below[kid] = g;
      this.mix[kid] = g.mix;
      kids.push(kid);
    }
    return kids;
  }
}

function addFrame(d, name) {
  d.extra = d.extra || new Map();
  if (!d.extra.has(name)) {
    d.extra.set(name, d.names.length);
    d.names.push(name);
    const t = new Uint8Array(d.names.length); t.set(d.types); t[t.length - 1] = GROUP; d.types = t;
  }
  return d.extra.get(name);
}

// ---- state of the page --------------------------------------------------------------------------

const S = {dim: 1, flip: false, reverse: false, split: '', thread: '', states: new Set(), query: null,
  zoom: 0, select: -1, hover: -1, range: null};
let D, T, self, total, other, match, rects = [], rows = [], gaps = [];

const fmtUs = us => {
  if (us >= 3.6e9) return (us / 3.6e9).toFixed(2) + ' h';
  if (us >= 1e8) return (us / 1e6).toFixed(0) + ' s';
  if (us >= 1e6) return (us / 1e6).toFixed(2) + ' s';
  if (us >= 1e3) return (us / 1e3).toFixed(us < 1e4 ? 1 : 0) + ' ms';
  return us.toFixed(0) + ' µs';
};
const pct = (a, b) => b ? (100 * a / b).toFixed(a / b < .0995 ? 2 : 1) + '%' : '0%';

function cellWeights() {
  const t = D.times, c = D.cells;
  if (!S.range) return c.us;
  const w = new Float64Array(c.n), [from, to] = S.range;
  for (let i = 0; i < t.n; i++) {
    const a = t.start[i], b = a + t.span[i];
    if (b < from || a > to) continue;
    const share = t.span[i] ? (Math.min(b, to) - Math.max(a, from)) / t.span[i] : 1, k = t.cell[i];
    w[k] += share * t.ticks[i] * c.us[k] / c.samples[k];
  }
  return w;
}

// The weights of the cells that were chosen: of A, or all, and of B.
function chosen() {
  const c = D.cells, all = cellWeights(), bit = 1 << S.dim, w = new Float64Array(c.n), v = new Float64Array(c.n);
  for (let i = 0; i < c.n; i++) {
    if (!(c.dims[i] & bit) || S.states.has(c.state[i])) continue;
    if (S.thread && D.groups[c.thread[i]] !== S.thread && D.threads[c.thread[i]] !== S.thread) continue;
    (c.side[i] ? v : w)[i] = all[i];
  }
  return [w, v];
}

const framesOf = n => { const f = []; for (; n > 0; n = T.parent[n]) f.push(T.frame[n]); return f.reverse(); };

// The node these frames lead to, 0 if there is none any more.
function nodeOf(frames) {
  let n = 0;
  for (const f of frames) {
    n = T.kids(n).find(k => T.frame[k] === f) ?? -1;
    if (n < 0) return 0;
  }
  return n;
}

function reweigh() {
  const kept = T ? [S.zoom, Math.max(S.select, 0)].map(framesOf) : [[], []], [w, v] = chosen(), c = D.cells;
  const label = {state: i => D.states[c.state[i]], group: i => D.groups[c.thread[i]], thread: i => D.threads[c.thread[i]]};
  T = S.reverse ? new Reverse(D, w, v) : new Forward(D, w, v, label[S.split]);
  self = T.self; total = T.total; other = head.diff ? T.other : null;
  S.zoom = nodeOf(kept[0]);
  S.select = nodeOf(kept[1]) || -1;
  S.hover = -1;
  search();
}

// In a comparison a node is as wide as its shares of both sides, so that what vanished is still
// seen, and a longer recording does not outweigh the other.
const weight = n => other ? total[n] / (total[0] || 1) + other[n] / (other[0] || 1) : total[n];

function restructure() {
  S.zoom = 0; S.select = -1;
  reweigh();
}

// How much of each side is in stacks with a frame, or under a label, that matches.
function matchSums() {
  const {n, parent, frame} = D.base, c = D.cells, has = new Uint8Array(n), sums = [0, 0];
  const labels = {state: c.state, group: c.thread, thread: c.thread}[S.reverse ? '' : S.split];
  const names = {state: D.states, group: D.groups, thread: D.threads}[S.split];
  for (let i = 1; i < n; i++) has[i] = has[parent[i]] | match[frame[i]];
  for (let i = 0; i < c.n; i++)
    if (has[c.node[i]] || (labels && S.query.test(names[labels[i]])))
      for (let k = 0; k < 2; k++) sums[k] += T.w[k][i];
  return sums;
}

function search() {
  match = null;
  $('found').textContent = '';
  if (S.query) {
    match = new Uint8Array(D.names.length);
    for (let i = 0; i < D.names.length; i++) match[i] = S.query.test(D.names[i]) ? 1 : 0;
    const [a, b] = matchSums();
    $('found').textContent = other ? `A ${pct(a, total[0])} · B ${pct(b, other[0])}` : `${pct(a, total[0])} · ${fmtUs(a)}`;
  }
  draw();
}

const typeOf = n => n ? D.types[T.frame[n]] : GROUP;
// How the time of a Java frame is shared by those that ran it: "60% C2, 40% inlined".
function tierMix(n) {
  const mix = T.mix[n], all = mix ? mix.reduce((a, b) => a + b, 0) : 0;
  if (!all) return '';
  return TIER_LABEL.map((name, i) => [name, 100 * mix[i] / all]).filter(t => t[1] >= .5)
    .sort((a, b) => b[1] - a[1]).map(([name, p]) => p > 99.5 ? name : `${Math.round(p)}% ${name}`).join(', ');
}
const nameOf = n => n ? D.names[T.frame[n]] : S.reverse ? 'all methods' : 'all';

// By name, so that a frame is found where it was in another recording; of callers the most first.
function children(n) {
  const kids = T.kids(n);
  if (kids.sorted) return kids;
  kids.sorted = true;
  const name = k => D.names[T.frame[k]];
  return kids.sort((x, y) => S.reverse && weight(x) !== weight(y) ? weight(y) - weight(x)
    : name(x) < name(y) ? -1 : name(x) > name(y) ? 1 : T.frame[x] - T.frame[y]);
}

// ---- drawing ------------------------------------------------------------------------------------

const dark = () => document.documentElement.dataset.theme === 'dark';
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colours = new Map();

function typeColour(type, name, dim) {
  let h = 0;
  for (let i = 0; i < name.length && i < 48; i++) h = Math.imul(h, 31) + name.charCodeAt(i) | 0;
  const vary = (h >>> 4) % 5, key = type * 32 + vary * 4 + (dim ? 2 : 0) + (dark() ? 1 : 0);
  if (!colours.has(key)) {
    const [hue, sat] = TYPE_HSL[type], l = (dark() ? 33 : 72) + vary * (dark() ? 2.2 : 2.4);
    colours.set(key, `hsl(${hue + vary * 2 - 4} ${dim ? sat * .3 : sat}% ${dim ? (dark() ? 24 : 88) : l}%)`);
  }
  return colours.get(key);
}

// Red grew, blue shrank, in the share of its own recording.
function diffColour(n) {
  const a = total[0] ? total[n] / total[0] : 0, b = other[0] ? other[n] / other[0] : 0;
  const d = a + b ? (b - a) / Math.max(a, b) : 0, k = Math.min(1, Math.abs(d));
  return `hsl(${d > 0 ? 8 : 212} ${Math.round(75 * k)}% ${Math.round((dark() ? 38 : 84) - (dark() ? -4 : 22) * k)}%)`;
}

function stateColour(name) {
  const k = Object.keys(STATE_HUE).find(s => name.startsWith(s)) ||
    (name.includes('PARK') ? 'PARKED' : name.includes('WAIT') ? 'WAITING' : name.includes('BLOCK') ? 'BLOCKED' : 'SLEEPING');
  const [h, s, pale = 0] = STATE_HUE[k];
  return `hsl(${h} ${s}% ${dark() ? 48 - pale : 58 + pale}%)`;
}

function fit(canvas, w, h) {
  const r = devicePixelRatio || 1;
  if (canvas.width !== Math.round(w * r) || canvas.height !== Math.round(h * r)) {
    canvas.width = Math.round(w * r); canvas.height = Math.round(h * r);
    canvas.style.width = w + 'px'; canvas.style.height = h + 'px';
  }
  const g = canvas.getContext('2d');
  g.setTransform(r, 0, 0, r, 0, 0);
  return g;
}

// Which frames are wide enough to be seen: rects, and per depth their numbers from left to right.
// What is too narrow shows as one gap where many of them lie side by side.
function layout(width) {
  rects = []; rows = []; gaps = [];
  const add = (n, x, w, d, above) => {
    (rows[d] = rows[d] || []).push(rects.length);
    rects.push({n, x, w, d, above});
  };
  const z = S.zoom, all = weight(z);
  const up = [];
  for (let n = z; n > 0; n = T.parent[n]) up.push(T.parent[n]);
  up.reverse().forEach((n, d) => add(n, 0, width, d, true));
  if (!all) return;
  const stack = [[z, 0, T.depth[z]]], scale = width / all;
  while (stack.length) {
    const [n, x, d] = stack.pop();
    add(n, x, weight(n) * scale, d, false);
    let at = x, from = x, many = 0;
    const next = [], gap = () => { if (at - from >= 2) gaps.push({x: from, w: at - from, d: d + 1, many}); };
    for (const c of children(n)) {
      const w = weight(c) * scale;
      if (w >= .5) { gap(); next.push([c, at, d + 1]); from = at + w; many = 0; } else many++;
      at += w;
    }
    gap();
    while (next.length) stack.push(next.pop());
  }
}

// Widths of single characters, remembered: asking the canvas for every label is slow.
const charWidths = new Map();
function fits(g, s, w) {
  let n = 0;
  for (const c of s) {
    let cw = charWidths.get(c);
    if (cw === undefined) charWidths.set(c, cw = g.measureText(c).width);
    if ((w -= cw) < 0) return n;
    n += c.length;
  }
  return n;
}

const isNative = type => type >= 3 && type <= 5;

// Class and method of Java; of native code the symbol, whose library may have dots, as it may.
function shortName(s, type) {
  if (type === GROUP) return s;
  if (isNative(type)) return s.replace(/^(\([^)]*\)|[^.(]*\.so[.\d]*|[^.(:]*)\.(?=.)/, '');
  return s.replace(/^.*\.([^.]*\.[^.]*)$/, '$1');
}

// As much of the name as there is room for: all, class and method, method, its beginning.
function label(g, s, type, w) {
  w -= 7;
  if (fits(g, s, w) === s.length) return s;
  const short = shortName(s, type);
  if (fits(g, short, w) === short.length) return short;
  const last = isNative(type) ? short : short.slice(short.lastIndexOf('.') + 1);
  if (fits(g, last, w) === last.length) return last;
  const n = fits(g, last, w - fits.dots);
  return n > 1 ? last.slice(0, n) + '…' : '';
}

function draw() {
  if (!T) return;
  crumbs(); detail(); // first: they may change what height is left
  const box = $('scroll'), width = box.clientWidth, view = box.clientHeight;
  layout(width);
  const depth = gaps.reduce((d, r) => Math.max(d, r.d + 1), rows.length), full = Math.max(depth * ROW + 4, 1);
  $('space').style.height = full + 'px';
  const g = fit($('graph'), width, view), top = box.scrollTop;
  g.clearRect(0, 0, width, view);
  g.font = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
  g.textBaseline = 'middle';
  fits.dots = g.measureText('…').width;
  const text = css('--text'), dimText = css('--dim'), bg = css('--bg'), sel = css('--select'), hit = css('--match');
  const faint = css('--faint');
  for (const r of gaps) {
    const y = yOf(r.d, full, view) - top, says = `${r.many.toLocaleString('en')} too narrow to show`;
    if (y + ROW < 0 || y > view) continue;
    g.fillStyle = faint; g.fillRect(r.x, y, r.w - 1, ROW - 1);
    g.fillStyle = dimText;
    if (r.w > 40 && fits(g, says, r.w - 8) === says.length) g.fillText(says, r.x + 4, y + ROW / 2);
  }
  for (const r of rects) {
    const y = yOf(r.d, full, view) - top;
    r.y = y;
    if (y + ROW < 0 || y > view) continue;
    const name = nameOf(r.n), found = match && r.n && match[T.frame[r.n]];
    const fade = r.above || (match && !found);
    g.fillStyle = found ? hit : other && r.n ? diffColour(r.n) : typeColour(typeOf(r.n), name, fade);
    g.fillRect(r.x, y, Math.max(r.w - (r.w > 3 ? 1 : .2), .4), ROW - 1);
    if (r.w > 24) {
      g.fillStyle = found ? bg : fade ? dimText : text;
      g.fillText(label(g, name, typeOf(r.n), r.w), Math.max(r.x, 0) + 4, y + ROW / 2);
    }
    if (r.n === S.select || r.n === S.hover) {
      g.strokeStyle = sel; g.lineWidth = r.n === S.select ? 2 : 1;
      g.strokeRect(r.x + 1, y + 1, Math.max(r.w - 3, 1), ROW - 3);
    }
  }
  const none = !weight(0);
  $('empty').hidden = !none;
  $('empty').textContent = none ? `No ${DIM_LABEL[head.dims[S.dim]]} time here. Another view, thread or state may have some.` : '';
}

// Icicles hang from the top; flames stand on the lower edge.
const yOf = (d, full, view) => S.flip ? Math.max(full, view) - (d + 1) * ROW - 2 : d * ROW + 2;

function crumbs() {
  const el = $('crumbs');
  el.textContent = '';
  const path = [];
  for (let n = S.zoom; n > 0; n = T.parent[n]) path.push(n);
  const b = (text, n) => { const x = document.createElement('button'); x.textContent = text; x.title = text; x.onclick = () => zoom(n); el.append(x); };
  b(nameOf(0), 0);
  if (path.length > 4) el.append(' › …');
  path.slice(0, 4).reverse().forEach(n => { el.append(' › '); b(shortName(nameOf(n), typeOf(n)), n); });
  if (S.range) {
    const x = document.createElement('button');
    x.id = 'range'; x.textContent = `${fmtUs(S.range[0])} – ${fmtUs(S.range[1])} ✕`; x.title = 'All of the time again (Esc)';
    x.onclick = rangeClear;
    el.append(x);
  }
}

function stackOf(n) {
  const s = [];
  for (; n > 0; n = T.parent[n]) s.push(nameOf(n));
  return S.reverse ? s.reverse() : s;
}

const numbers = n => {
  const z = total[0];
  if (other) return `A ${fmtUs(total[n])} ${pct(total[n], z)}   B ${fmtUs(other[n])} ${pct(other[n], other[0])}`;
  return `${fmtUs(total[n])} · ${pct(total[n], z)} of all` +
    (S.zoom ? ` · ${pct(total[n], total[S.zoom])} of the zoom` : '') +
    (S.reverse ? '' : ` · self ${fmtUs(self[n])}`);
};

function detail() {
  const el = $('detail'), n = S.select >= 0 ? S.select : S.hover >= 0 ? S.hover : S.zoom;
  el.textContent = '';
  const b = document.createElement('b'), s = document.createElement('span');
  b.textContent = nameOf(n);
  const type = n ? '  [' + (tierMix(n) || TYPE_LABEL[D.types[T.frame[n]]]) + ']' : '';
  s.textContent = `${type}  ${numbers(n)}\n`;
  el.append(b, s);
  if (S.select >= 0) {
    const rest = document.createElement('span');
    rest.textContent = stackOf(n).slice(1).map(x => '  ' + x).join('\n');
    el.append(rest);
  }
}

// ---- timeline -----------------------------------------------------------------------------------

const TL = {rows: [], from: 0, to: 1, drag: null};

function timelineInit() {
  const c = D.cells, t = D.times, per = new Map();
  let end = head.duration_us;
  for (let i = 0; i < t.n; i++) {
    const th = c.thread[t.cell[i]];
    if (!per.has(th)) per.set(th, []);
    per.get(th).push(i);
    end = Math.max(end, t.start[i] + t.span[i]);
  }
  TL.rows = [...per].map(([th, list]) => {
    let cpu = 0;
    for (const i of list) if (c.dims[t.cell[i]] & 1) cpu += t.ticks[i];
    return {th, list, cpu};
  }).sort((a, b) => b.cpu - a.cpu || (D.threads[a.th] < D.threads[b.th] ? -1 : 1));
  TL.end = TL.to = Math.max(end, 1);
  $('timeline').hidden = false;
}

// The least of 1, 2, 5, 10 ... that is no less.
function roundStep(least) {
  const ten = 10 ** Math.floor(Math.log10(least));
  return ten * [1, 2, 5, 10].find(k => ten * k >= least * .999);
}

function timelineDraw() {
  if (!TL.rows.length) return;
  const box = $('tl-scroll'), width = box.clientWidth, full = TL.rows.length * TL_ROW + TL_AXIS;
  box.style.height = Math.min(full, innerHeight * .34) + 'px';
  $('tl-space').style.height = full + 'px';
  const view = box.clientHeight, g = fit($('tl'), width, view), top = box.scrollTop;
  const w = width - TL_NAME, scale = w / (TL.to - TL.from), c = D.cells, t = D.times;
  g.clearRect(0, 0, width, view);
  g.font = '11px system-ui, "DejaVu Sans", sans-serif'; g.textBaseline = 'middle';
  const text = css('--text'), faint = css('--faint'), bg = css('--bg');
  const fills = D.states.map(stateColour), best = new Float32Array(w + 1), who = new Int16Array(w + 1);
  TL.rows.forEach((row, k) => {
    const y = TL_AXIS + k * TL_ROW - top;
    if (y + TL_ROW < TL_AXIS || y > view) return;
    g.fillStyle = faint; g.fillRect(TL_NAME, y + 1, w, TL_ROW - 2);
    best.fill(0); who.fill(-1);
    for (const i of row.list) {
      const cell = t.cell[i], period = c.us[cell] / c.samples[cell];
      const a = (t.start[i] - TL.from) * scale, b = (t.start[i] + t.span[i] + period - TL.from) * scale;
      if (b < 0 || a > w || S.states.has(c.state[cell])) continue;
      const x0 = Math.max(0, a | 0), x1 = Math.min(w, Math.max(b, a + 1) | 0);
      // what runs or waits for a CPU is rarer and says more: it wins a shared pixel
      const rank = c.dims[cell] & 1 ? 3 : D.states[c.state[cell]].startsWith('QUEUED') ? 4 : 1;
      for (let x = x0; x < x1; x++) if (rank > best[x]) { best[x] = rank; who[x] = c.state[cell]; }
    }
    for (let x = 0; x < w;) {
      const s = who[x]; let e = x + 1;
      while (e < w && who[e] === s) e++;
      if (s >= 0) { g.fillStyle = fills[s]; g.fillRect(TL_NAME + x, y + 1, e - x, TL_ROW - 2); }
      x = e;
    }
    g.fillStyle = S.thread === D.threads[row.th] ? css('--accent') : text;
    g.fillText(D.threads[row.th].slice(0, 30), 14, y + TL_ROW / 2);
  });
  g.fillStyle = bg; g.fillRect(0, 0, width, TL_AXIS);
  g.fillStyle = css('--dim');
  const step = roundStep((TL.to - TL.from) / Math.max(2, w / 120));
  for (let us = Math.ceil(TL.from / step) * step; us <= TL.to; us += step) {
    const x = TL_NAME + (us - TL.from) * scale;
    g.fillRect(x, TL_AXIS - 4, 1, 4);
    if (x + 40 < width) g.fillText(us ? fmtUs(us).replace(/\.0+ |(\.\d*[1-9])0+ /, '$1 ') : '0', x + 2, TL_AXIS / 2 - 2);
  }
  const mark = TL.drag || S.range;
  if (mark) {
    const a = TL_NAME + (mark[0] - TL.from) * scale, b = TL_NAME + (mark[1] - TL.from) * scale;
    g.strokeStyle = css('--select'); g.lineWidth = 1.5;
    g.strokeRect(Math.min(a, b), 1, Math.abs(b - a), view - 2);
  }
}

function rangeClear() { S.range = null; reweigh(); timelineDraw(); }

function timelineEvents() {
  const tl = $('tl'), us = e => {
    const w = tl.clientWidth - TL_NAME, x = e.clientX - tl.getBoundingClientRect().left - TL_NAME;
    return TL.from + Math.max(0, Math.min(1, x / w)) * (TL.to - TL.from);
  };
  tl.onpointerdown = e => {
    if (e.offsetX < TL_NAME) {
      const k = Math.floor((e.offsetY - TL_AXIS + $('tl-scroll').scrollTop) / TL_ROW), row = TL.rows[k];
      if (row) pickThread(S.thread === D.threads[row.th] ? '' : D.threads[row.th]);
      return;
    }
    tl.setPointerCapture(e.pointerId);
    TL.drag = [us(e), us(e)];
  };
  tl.onpointermove = e => { if (TL.drag) { TL.drag[1] = us(e); timelineDraw(); } };
  tl.onpointerup = () => {
    if (!TL.drag) return;
    const [a, b] = TL.drag.sort((x, y) => x - y);
    TL.drag = null;
    S.range = b - a > (TL.to - TL.from) / 400 ? [a, b] : null;
    reweigh(); timelineDraw();
  };
  tl.ondblclick = () => { TL.from = 0; TL.to = TL.end; rangeClear(); };
  tl.addEventListener('wheel', e => {
    if (!e.ctrlKey && !e.shiftKey) return;
    e.preventDefault();
    const at = us(e), k = (e.deltaY || e.deltaX) > 0 ? 1.25 : .8;
    TL.from = Math.max(0, at - (at - TL.from) * k); TL.to = Math.min(TL.end, at + (TL.to - at) * k);
    timelineDraw();
  }, {passive: false});
  $('tl-scroll').addEventListener('scroll', timelineDraw);
}

// ---- what the user does -------------------------------------------------------------------------

function zoom(n) {
  S.zoom = n; S.hover = -1;
  $('scroll').scrollTop = S.flip ? 1e9 : Math.max(0, (T.depth[n] - 4) * ROW);
  draw();
  if (S.flip) { $('scroll').scrollTop = 1e9; draw(); }
}

function hitAt(e) {
  const x = e.offsetX, y = e.offsetY;
  for (const row of rows) {
    const y0 = row && rects[row[0]].y;
    if (!row || y < y0 || y >= y0 + ROW) continue;
    let lo = 0, hi = row.length - 1;
    while (lo < hi) { const m = lo + hi + 1 >> 1; if (rects[row[m]].x <= x) lo = m; else hi = m - 1; }
    const r = rects[row[lo]];
    return x < r.x + r.w ? r.n : -1;
  }
  return -1;
}

function tip(e, n) {
  const el = $('tip');
  el.hidden = n < 0;
  if (n < 0) return;
  el.textContent = '';
  const b = document.createElement('b'), d = document.createElement('div');
  b.textContent = nameOf(n); d.textContent = numbers(n);
  el.append(b, d);
  const mix = tierMix(n);
  if (mix) { const m = document.createElement('div'); m.textContent = mix; el.append(m); }
  const w = el.offsetWidth, h = el.offsetHeight;
  el.style.left = Math.min(e.clientX + 14, innerWidth - w - 8) + 'px';
  el.style.top = (e.clientY + h + 26 > innerHeight ? e.clientY - h - 10 : e.clientY + 18) + 'px';
}

// Along the tree as drawn: up to the caller, down to the widest callee, sideways to siblings.
function walk(key) {
  let n = S.select >= 0 ? S.select : S.zoom;
  const down = (key === 'ArrowDown') !== S.flip;
  if (key === 'ArrowUp' || key === 'ArrowDown') {
    if (!down) n = n > 0 ? T.parent[n] : 0;
    else n = children(n).reduce((a, c) => weight(c) > (a < 0 ? 0 : weight(a)) ? c : a, -1);
  } else if (n > 0) {
    const kids = children(T.parent[n]).filter(c => weight(c) > 0), i = kids.indexOf(n);
    n = kids[i + (key === 'ArrowRight' ? 1 : -1)] ?? n;
  }
  if (n < 0) return;
  S.select = n;
  draw();
  const r = rects.find(q => q.n === n), box = $('scroll');
  if (!r) zoom(T.parent[n]);
  else if (r.y < 0) box.scrollTop += r.y - ROW;
  else if (r.y + ROW > box.clientHeight) box.scrollTop += r.y + 2 * ROW - box.clientHeight;
}

function copy(text) {
  const done = () => { $('found').textContent = 'copied'; setTimeout(search, 900); };
  if (navigator.clipboard && isSecureContext) { navigator.clipboard.writeText(text).then(done, () => 0); return; }
  const a = document.createElement('textarea'); // pages opened as files have no clipboard object
  a.value = text; document.body.append(a); a.select();
  document.execCommand('copy'); a.remove(); done();
}

function back() {
  if (S.query) { $('search').value = ''; S.query = null; search(); }
  else if (S.select >= 0) { S.select = -1; draw(); }
  else if (S.zoom) zoom(0);
  else if (S.range) rangeClear();
}

function setDim(i) {
  if (!head.totals_us[i] && !head.diff) return;
  S.dim = i;
  controls(); reweigh();
}

function pickThread(name) { S.thread = name; $('thread').value = name; reweigh(); timelineDraw(); }

function theme(name) {
  document.documentElement.dataset.theme = name;
  draw(); timelineDraw(); controls();
}

function keydown(e) {
  if (e.target.id === 'search') {
    if (e.key === 'Escape') { back(); e.target.blur(); } else if (e.key === 'Enter') $('scroll').focus();
    return;
  }
  if (e.target.tagName === 'SELECT' || e.ctrlKey || e.metaKey || e.altKey || $('keys').open) return;
  const on = {
    '/': () => $('search').focus(), Escape: back, i: () => setOrient(!S.flip, S.reverse),
    r: () => setOrient(S.flip, !S.reverse), d: () => theme(dark() ? 'light' : 'dark'),
    '?': () => $('keys').showModal(), 1: () => setDim(0), 2: () => setDim(1), 3: () => setDim(2),
    Enter: () => S.select >= 0 && zoom(S.select),
    c: () => S.select >= 0 && copy(nameOf(S.select)), C: () => S.select >= 0 && copy(stackOf(S.select).join('\n')),
    ArrowUp: () => walk(e.key), ArrowDown: () => walk(e.key), ArrowLeft: () => walk(e.key), ArrowRight: () => walk(e.key),
  }[e.key];
  if (!on) return;
  if (e.key === 'Enter' && e.target.tagName === 'BUTTON') return;
  e.preventDefault();
  on();
}

function setOrient(flip, reverse) {
  const changed = reverse !== S.reverse;
  S.flip = flip; S.reverse = reverse;
  controls();
  if (changed) restructure(); else draw();
  $('scroll').scrollTop = S.flip ? 1e9 : 0;
  draw();
}

// ---- controls -----------------------------------------------------------------------------------

function radio(box, items) {
  box.textContent = '';
  for (const it of items) {
    const b = document.createElement('button');
    b.textContent = it.text; b.setAttribute('role', 'radio'); b.setAttribute('aria-checked', it.on);
    if (it.small) { const s = document.createElement('small'); s.textContent = it.small; b.append(s); }
    b.disabled = !!it.off; b.title = it.title || ''; b.onclick = it.go;
    box.append(b);
  }
}

function chip(text, colour, pressed, go) {
  const b = document.createElement(go ? 'button' : 'span'), i = document.createElement('i');
  b.className = 'chip'; i.style.background = colour;
  b.append(i, text);
  if (go) { b.setAttribute('aria-pressed', pressed); b.onclick = go; }
  return b;
}

// Of each dimension, and of idle threads, without the states that were put out.
function sums() {
  const c = D.cells, us = [0, 0, 0];
  let idle = 0;
  for (let i = 0; i < c.n; i++) {
    if (c.state[i] === head.idle && c.dims[i] & 2) idle += c.us[i];
    if (S.states.has(c.state[i])) continue;
    for (let d = 0; d < 3; d++) if (c.dims[i] & 1 << d) us[d] += c.us[i];
  }
  return {us, idle};
}

function controls() {
  const {us, idle} = sums();
  radio($('dims'), head.dims.map((d, i) => ({text: DIM_LABEL[d], small: fmtUs(us[i]), on: S.dim === i,
    off: !head.totals_us[i] && !head.diff, go: () => setDim(i), title: `key ${i + 1}`})));
  radio($('orient'), [
    {text: 'Icicle', on: !S.flip && !S.reverse, go: () => setOrient(false, false)},
    {text: 'Flame', on: S.flip && !S.reverse, go: () => setOrient(true, false)},
    {text: 'Callers', on: S.reverse, go: () => setOrient(false, true), title: 'methods first, their callers below'}]);
  const st = $('states');
  st.textContent = '';
  D.states.forEach((s, i) => {
    const says = i === head.idle && S.states.has(i) ? `${s} (${fmtUs(idle)} left out)` : s;
    st.append(chip(says, stateColour(s), !S.states.has(i), () => {
      if (!S.states.delete(i)) S.states.add(i);
      controls(); reweigh(); timelineDraw();
    }));
  });
  const lg = $('legend');
  lg.textContent = '';
  if (head.diff) { lg.append(chip('less in B', 'hsl(212 75% 62%)'), chip('more in B', 'hsl(8 75% 62%)')); return; }
  const seen = new Set();
  for (let i = 1; i < D.base.n; i++) seen.add(D.types[D.base.frame[i]]);
  [...seen].sort().forEach(t => lg.append(chip(TYPE_LABEL[t], typeColour(t, '', false))));
}

function threadsFill() {
  const sel = $('thread'), add = (text, value, to) => {
    const o = document.createElement('option'); o.textContent = text; o.value = value; (to || sel).append(o);
  };
  add('all', '');
  const groups = [...new Set(D.groups)].sort(), count = new Map();
  D.groups.forEach(g => count.set(g, (count.get(g) || 0) + 1));
  const many = groups.filter(g => count.get(g) > 1);
  if (many.length) {
    const og = document.createElement('optgroup'); og.label = 'groups';
    many.forEach(g => add(`${g} (${count.get(g)})`, g, og)); sel.append(og);
  }
  const og = document.createElement('optgroup'); og.label = 'threads';
  [...new Set(D.threads)].sort().slice(0, 5000).forEach(t => add(t, t, og));
  sel.append(og);
}

function events() {
  const g = $('graph'), box = $('scroll');
  g.onmousemove = e => { const n = hitAt(e); tip(e, n); if (n !== S.hover) { S.hover = n; draw(); } };
  g.onmouseleave = () => { $('tip').hidden = true; S.hover = -1; draw(); };
  g.onclick = e => {
    const n = hitAt(e);
    box.focus();
    if (n < 0) return;
    S.select = n;
    $('tip').hidden = true;
    zoom(n);
  };
  box.addEventListener('scroll', () => requestAnimationFrame(draw));
  addEventListener('resize', timelineDraw);
  new ResizeObserver(draw).observe(box);
  addEventListener('keydown', keydown);
  let wait;
  $('search').oninput = e => {
    clearTimeout(wait);
    wait = setTimeout(() => {
      const q = e.target.value;
      try { S.query = q ? new RegExp(q, 'i') : null; }
      catch { S.query = new RegExp(q.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i'); }
      search();
    }, 80);
  };
  $('split').onchange = e => { S.split = e.target.value; S.reverse = false; controls(); restructure(); };
  $('thread').onchange = e => pickThread(e.target.value);
  $('theme').onclick = () => theme(dark() ? 'light' : 'dark');
  $('help').onclick = () => $('keys').showModal();
}

async function main() {
  document.documentElement.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  document.title = head.title + ' · gnomon';
  $('title').textContent = head.title;
  $('meta').textContent = head.note;
  if (typeof DecompressionStream === 'undefined') {
    $('empty').hidden = false;
    $('empty').textContent = 'This browser is too old: Chrome 80, Firefox 113 or Safari 16.4 is needed.';
    return;
  }
  D = decode(await inflate($('data').textContent));
  $('data').textContent = '';
  S.dim = head.totals_us[head.first] ? head.first : Math.max(0, head.totals_us.findIndex(x => x > 0));
  if (head.idle >= 0 && !head.show_idle) S.states.add(head.idle);
  threadsFill(); controls(); events();
  if (head.timeline) { timelineInit(); timelineEvents(); }
  timelineDraw(); restructure();
  document.documentElement.dataset.ready = Math.round(performance.now());
}
main().catch(e => { $('empty').hidden = false; $('empty').textContent = 'The data of this page is damaged: ' + e.message; throw e; });
})();
