// SPDX-License-Identifier: Apache-2.0
// What is looked at: the choices (S), and what follows from them (D: data, T: tree).

const $ = id => document.getElementById(id);
const head = JSON.parse($('head').textContent);
const DIM_LABEL = {cpu: 'CPU', wall: 'Wall', off: 'Off CPU'};

const S = {
  tab: 'flame', dim: 1, flip: false, reverse: false, split: '',
  java: true,         // native frames of stacks with Java are folded away
  trunks: true,       // runs of frames with one callee each are folded into one
  thread: null,       // {self: number}, {group: number} or {virtual: true}
  off: new Set(),     // states left out
  query: '',
  range: null,        // [from, to] in us; or
  spans: null,        // several, in order and apart: what is looked at is in any of them
  bands: '',          // of that only what is 'in' bands, or 'out' of them (lanes.js)
  request: null,      // {endpoint: number} or {one: number}, of head.requests
  compare: false,     // of that endpoint: its slow ones held against its fast ones
  zoom: 0, select: -1, hover: -1, open: new Set(), // nodes; trunks unfolded
  sort: 'self',
};
let D, T, match = null, cellHits = null;

const fmtUs = us => {
  if (us >= 3.6e9) return (us / 3.6e9).toFixed(2) + ' h';
  if (us >= 1e8) return (us / 1e6).toFixed(0) + ' s';
  if (us >= 1e6) return (us / 1e6).toFixed(2) + ' s';
  if (us >= 1e3) return (us / 1e3).toFixed(us < 1e4 ? 1 : 0) + ' ms';
  return us ? us.toFixed(0) + ' µs' : '0 s';
};
const pct = (a, b) => a && b ? (100 * a / b).toFixed(a / b < .0995 ? 2 : 1) + '%' : '0%';

// What the user does, and how long it took at most, in ms: gnomon.took in the console.
const took = {};
function act(name, what) {
  const start = performance.now(), r = what();
  took[name] = Math.max(took[name] || 0, performance.now() - start);
  return r;
}

// ---- weights ------------------------------------------------------------------------------------

const rangeChosen = () => S.spans || (S.range ? [S.range] : null);

// The spans that are looked at, in order and apart; null: all of the time.
function timesChosen() {
  const spans = rangeChosen();
  return S.bands ? bandsWithin(spans || [[Math.min(TL.begin, 0) - 1e7, TL.end + 1e7]], S.bands === 'out') : spans;
}

// How much of the spans lies before a time, and whether it is in one.
function spansMeasure(spans) {
  const n = spans.length, sum = new Float64Array(n + 1);
  for (let k = 0; k < n; k++) sum[k + 1] = sum[k] + spans[k][1] - spans[k][0];
  const until = us => { let lo = 0, hi = n; while (lo < hi) { const m = lo + hi >>> 1; if (spans[m][0] <= us) lo = m + 1; else hi = m; } return lo; };
  const before = us => { const k = until(us); return k ? sum[k - 1] + Math.min(us, spans[k - 1][1]) - spans[k - 1][0] : 0; };
  return {before, within: us => { const k = until(us); return k > 0 && us <= spans[k - 1][1]; }};
}

// The time of every cell within the spans chosen; of certain requests: where wanted[of it] is `is`.
function cellTimes(wanted, is) {
  const t = D.times, c = D.cells, spans = timesChosen();
  if ((!spans && !wanted) || !t.n) return c.us;
  const w = new Float64Array(c.n), {before, within} = spansMeasure(spans || []);
  for (let i = 0; i < t.n; i++) {
    if (wanted && wanted[t.request[i]] !== is) continue;
    const a = t.start[i], b = a + t.span[i], k = t.cell[i];
    const share = !spans ? 1 : t.span[i] ? (before(b) - before(a)) / t.span[i] : within(a) ? 1 : 0;
    if (share) w[k] += share * t.ticks[i] * c.us[k] / c.samples[k];
  }
  return w;
}

function isChosen(t) {
  const k = S.thread;
  if (!k) return true;
  return k.virtual ? (D.flags[t] & 1) !== 0 : k.self !== undefined ? D.selfOf[t] === k.self : D.groupOf[t] === k.group;
}

// Two sides are held against each other: two recordings, or slow requests and fast ones.
const compared = () => head.diff || S.compare;
const sideNames = () => head.diff ? ['A', 'B'] : ['fast', 'slow'];

// The weights of the cells that were chosen: of A, or all, and of B.
function chosen() {
  const c = D.cells, wanted = requestsWanted(), all = cellTimes(wanted, 1), other = S.compare ? cellTimes(wanted, 2) : null;
  const bit = 1 << S.dim, w = new Float64Array(c.n), v = new Float64Array(c.n);
  const ok = D.threads.map((_, t) => isChosen(t)), shown = D.states.map((_, s) => !S.off.has(s));
  for (let i = 0; i < c.n; i++) {
    if (!(c.dims[i] & bit) || !shown[c.state[i]] || !ok[c.thread[i]]) continue;
    (c.side[i] ? v : w)[i] = all[i];
    if (other) v[i] = other[i];
  }
  return [w, v];
}

// ---- the tree -----------------------------------------------------------------------------------

const framesOf = n => { const f = []; for (; n > 0; n = T.parent[n]) f.push(T.frame[n]); return f.reverse(); };

// The node these frames lead to, 0 if there is none any more.
function nodeOf(frames) {
  let n = 0;
  for (const f of frames) {
    n = T.kid(n, f);
    if (n < 0) return 0;
  }
  return n;
}

// What stacks are split by, of a cell.
const LABELS = {state: i => D.states[D.cells.state[i]], group: i => D.groups[D.groupOf[D.cells.thread[i]]],
  thread: i => D.threads[D.cells.thread[i]], cause: i => causeOf(i) || noCause(i)};

function treeMake() {
  cellsFollow();
  const [w, v] = chosen(), fold = S.java && hasBoth(), diff = compared();
  return S.reverse ? new Reverse(D, w, v, {fold, diff}) : new Forward(D, w, v, {label: LABELS[S.split], fold, diff});
}

// A new tree for new choices; what was zoomed to and selected stays so, if it is still there.
function reweigh() { remake(framesOf(S.zoom), framesOf(Math.max(S.select, 0)), [...S.open].map(framesOf)); }

// Another tree, zoomed to a stack of frames.
function remake(zoomed = [], selected = [], open = []) {
  T = treeMake();
  S.zoom = nodeOf(zoomed);
  S.select = nodeOf(selected) || -1;
  S.open = new Set(open.map(nodeOf).filter(n => n > 0));
  S.hover = -1;
  search();
}

const weight = n => T.width(T.total[n], T.other[n]);

const typeOf = n => n ? D.types[T.frame[n]] : GROUP;
const nameOf = n => n ? D.names[T.frame[n]] : S.reverse ? 'all methods' : 'all';
const isNative = type => type >= 3 && type <= 5;

// There are stacks of Java, and native frames to be folded away.
function hasBoth() {
  if (D.both === undefined) {
    let java = false, native = false;
    for (let i = 1; i < D.base.n && !(java && native); i++) if (isNative(D.types[D.base.frame[i]])) native = true; else java = true;
    D.both = java && native;
  }
  return D.both;
}

// How the time of a Java frame is shared by those that ran it: "60% C2, 40% inlined".
function tierMix(n) {
  const mix = T.tiers(n), all = mix.reduce((a, b) => a + b, 0);
  if (!all) return '';
  return sharesSaid(TIER_LABEL.map((name, i) => [name, mix[i] / all]));
}

// How long its threads were in each state: "80% PARKED, 20% RUNNING".
function stateMix(n) {
  const us = T.states(n), all = us.reduce((a, b) => a + b, 0);
  return all ? sharesSaid(D.states.map((name, i) => [name, us[i] / all])) : '';
}

const sharesSaid = list => list.filter(t => t[1] >= .005).sort((a, b) => b[1] - a[1])
  .map(([name, p]) => p > .995 ? name : `${Math.round(100 * p)}% ${name}`).join(', ');

// By name, so that a frame is found where it was in another recording; of callers and causes the most first.
function inOrder(kids) {
  if (kids.sorted) return kids;
  kids.sorted = true;
  const name = k => D.names[T.frame[k]];
  const most = S.reverse || (S.split === 'cause' && kids.length && !T.parent[kids[0]]);
  return kids.sort((x, y) => most && weight(x) !== weight(y) ? weight(y) - weight(x)
    : name(x) < name(y) ? -1 : name(x) > name(y) ? 1 : T.frame[x] - T.frame[y]);
}

const children = n => inOrder(T.kids(n));

// Class and method of Java; of native code the symbol, whose library may have dots, as it may.
function shortName(s, type) {
  if (type === GROUP || type === CAUSE) return s;
  if (isNative(type)) return s.replace(/^(\([^)]*\)|[^.(]*\.so[.\d]*|[^.(:]*)\.(?=.)/, '');
  return s.replace(/^.*\.([^.]*\.[^.]*)$/, '$1');
}

function stackOf(n) {
  const s = [];
  for (; n > 0; n = T.parent[n]) s.push(nameOf(n));
  return S.reverse ? s.reverse() : s;
}

// Frames of a cell's stack, leaf first, as they are shown.
function cellStack(cell) {
  const {parent, frame, kept} = D.base, fold = S.java && hasBoth() && D.cells.java[cell], out = [];
  let n = leafOf(D.base, D.cells.node[cell], fold);
  while (n > 0) { out.push(frame[n]); n = fold ? kept[parent[n]] : parent[n]; }
  return out;
}

// ---- search -------------------------------------------------------------------------------------

function patternOf(text) {
  if (!text) return null;
  try { return new RegExp(text, 'i'); } catch { return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i'); }
}

// Which cells have a frame that matches; 1: in a native frame that is folded away, 2: in one that
// is shown.
function hitsFind() {
  const {n, parent, frame, kept} = D.base, c = D.cells, has = new Uint8Array(n), hits = new Uint8Array(c.n);
  const fold = S.java && hasBoth();
  for (let i = 1; i < n; i++) has[i] = has[parent[i]] | (match[frame[i]] ? kept[i] === i ? 2 : 1 : 0);
  for (let i = 0; i < c.n; i++) {
    const h = has[c.node[i]];
    hits[i] = fold && c.java[i] ? h & 2 ? 2 : h : h ? 2 : 0;
  }
  const labels = LABELS[S.reverse ? '' : S.split];
  if (labels) {
    const re = patternOf(S.query);
    for (let i = 0; i < c.n; i++) if (re.test(labels(i))) hits[i] = 2;
  }
  return hits;
}

// How much of each side is in stacks that match.
function hitSums(least) {
  const sums = [0, 0];
  for (let i = 0; i < D.cells.n; i++)
    if (cellHits[i] >= least) for (let k = 0; k < 2; k++) sums[k] += T.w[k][i];
  return sums;
}

function search() {
  const re = patternOf(S.query), out = $('found');
  match = cellHits = null;
  out.textContent = '';
  if (re) {
    match = new Uint8Array(D.names.length);
    for (let i = 0; i < D.names.length; i++) match[i] = re.test(D.names[i]) ? 1 : 0;
    cellHits = hitsFind();
    const [a, b] = hitSums(2), all = hitSums(1)[0];
    const [one, two] = sideNames();
    out.textContent = compared() ? `${one} ${pct(a, T.total[0])} · ${two} ${pct(b, T.other[0])}` : `${pct(a, T.total[0])} · ${fmtUs(a)}` +
      (!a && all ? ` · ${pct(all, T.total[0])} in native code (j)` : '');
  }
  drawAll();
}

function drawAll() { draw(); timelineDraw(); methodsDraw(); requestsDraw(); linkWrite(); }

