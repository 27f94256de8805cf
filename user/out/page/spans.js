// SPDX-License-Identifier: Apache-2.0
// Samples over time, as what is drawn of them. A sample stands for the interval that it closes (on
// a CPU) or in whose middle it lies (by the wall clock).

// What runs or waits for a CPU is rarer and says more: it wins a shared pixel.
function stateRank(name) {
  if (name.startsWith('QUEUED')) return 5;
  if (name.startsWith('RUN')) return 4;
  if (name.startsWith('BLOCK')) return 3;
  return name === 'IDLE' ? 1 : 2;
}

const WALL = 3; // source, as in the data

function sampleFrom(i) {
  const t = D.times, source = D.cells.source[t.cell[i]], period = head.periods_us[source];
  return t.start[i] - (source === WALL ? period / 2 : period);
}

function sampleTo(i) {
  const t = D.times, source = D.cells.source[t.cell[i]];
  return t.start[i] + t.span[i] + (source === WALL ? head.periods_us[source] / 2 : 0);
}

// Calls each(i, from, to) for what of the row's samples lies in a span of time and is not left out.
function eachSample(row, from, to, each) {
  const t = D.times, c = D.cells, shown = D.states.map((_, s) => !S.off.has(s));
  for (const th of row.threads)
    for (let i = t.from[th]; i < t.from[th + 1]; i++) {
      const k = t.cell[i], period = head.periods_us[c.source[k]], wall = c.source[k] === WALL;
      const a = t.start[i] - (wall ? period / 2 : period);
      if (a > to) break;
      const b = t.start[i] + t.span[i] + (wall ? period / 2 : 0);
      if (b >= from && shown[c.state[k]]) each(i, a, b, k);
    }
}

// Of a thread, by pixel: its state + 1, or 0; and whether its stack matches the search.
function rasterThread(row, from, to, w) {
  const state = new Uint16Array(w), hit = new Uint8Array(w), rank = new Uint8Array(w);
  const scale = w / (to - from), ranks = D.states.map(stateRank), c = D.cells;
  eachSample(row, from, to, (i, a, b, k) => {
    const s = c.state[k], r = ranks[s], found = cellHits && cellHits[k] === 2 ? 1 : 0;
    const x0 = Math.max(0, (a - from) * scale | 0), x1 = Math.min(w, Math.max((b - from) * scale, (a - from) * scale + 1) | 0);
    for (let x = x0; x < x1; x++) {
      if (r >= rank[x]) { if (r > rank[x]) hit[x] = 0; rank[x] = r; state[x] = s + 1; hit[x] |= found; }
    }
  });
  return {state, hit};
}

// Of several threads, by pixel: how many of them were in each state, on average over the pixel; and
// how many had a stack that matches.
function rasterGroup(row, from, to, w) {
  const scale = w / (to - from), c = D.cells, counts = D.states.map(() => null);
  const slopes = D.states.map(() => null); // changes from pixel to pixel, for what is longer than one
  let hits = null, hitSlopes = null;
  const add = (v, d, x0, x1) => { // v: shares of single pixels, d: whole ones
    const p = Math.floor(x0), q = Math.floor(x1);
    if (p === q) { v[p] += x1 - x0; return; }
    v[p] += p + 1 - x0;
    if (q < w) v[q] += x1 - q;
    d[p + 1]++; d[q]--;
  };
  eachSample(row, from, to, (i, a, b, k) => {
    const s = c.state[k], x0 = Math.max(0, (a - from) * scale), x1 = Math.min(w, (b - from) * scale);
    if (x1 <= x0) return;
    if (!counts[s]) { counts[s] = new Float32Array(w + 1); slopes[s] = new Float32Array(w + 2); }
    add(counts[s], slopes[s], x0, x1);
    if (cellHits && cellHits[k] === 2) {
      if (!hits) { hits = new Float32Array(w + 1); hitSlopes = new Float32Array(w + 2); }
      add(hits, hitSlopes, x0, x1);
    }
  });
  const sum = (v, d) => { let n = 0; for (let x = 0; x < w && v; x++) v[x] += n += d[x]; };
  counts.forEach((v, s) => sum(v, slopes[s]));
  sum(hits, hitSlopes);
  return {counts, hits};
}

// The samples of a thread's row in order.
function rowSamples(row) {
  if (row.list) return row.list;
  const t = D.times, list = [];
  for (const th of row.threads) for (let i = t.from[th]; i < t.from[th + 1]; i++) list.push(i);
  if (row.threads.length > 1) list.sort((x, y) => t.start[x] - t.start[y]);
  return row.list = Int32Array.from(list);
}

// The sample of a thread's row at a time: what is drawn there. -1 if nothing is.
function sampleAt(row, us) {
  let best = -1, rank = 0;
  eachSample(row, us, us, (i, a, b, k) => {
    const r = stateRank(D.states[D.cells.state[k]]);
    if (r >= rank) { rank = r; best = i; }
  });
  return best;
}

// The time for which a thread was in one state, as far as its samples tell, around one of these.
function segmentOf(row, i) {
  const list = rowSamples(row), c = D.cells, t = D.times, state = k => c.state[t.cell[list[k]]];
  const slack = 1.5 * Math.max(...head.periods_us.map((p, s) => s === WALL || p < 1e6 ? p : 0));
  let at = 0;
  while (list[at] !== i) at++;
  let lo = at, hi = at;
  while (lo > 0 && state(lo - 1) === state(at) && sampleFrom(list[lo]) - sampleTo(list[lo - 1]) <= slack) lo--;
  while (hi + 1 < list.length && state(hi + 1) === state(at) && sampleFrom(list[hi + 1]) - sampleTo(list[hi]) <= slack) hi++;
  let ticks = 0;
  const cells = new Set();
  for (let k = lo; k <= hi; k++) { ticks += t.ticks[list[k]]; cells.add(t.cell[list[k]]); }
  return {row, i, state: state(at), from: sampleFrom(list[lo]), to: sampleTo(list[hi]), ticks, stacks: cells.size};
}

