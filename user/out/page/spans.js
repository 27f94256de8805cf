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

// From when to when each sample is drawn.
function spansMake() {
  const t = D.times, source = D.cells.source, periods = head.periods_us;
  t.longest = Math.max(...periods); // from where a sample is drawn to when it was taken
  t.a = new Float64Array(t.n); t.b = new Float64Array(t.n);
  for (let i = 0; i < t.n; i++) {
    const s = source[t.cell[i]], half = s === WALL ? periods[s] / 2 : 0;
    t.a[i] = t.start[i] - (half || periods[s]);
    t.b[i] = t.start[i] + t.span[i] + half;
  }
}

const sampleFrom = i => D.times.a[i], sampleTo = i => D.times.b[i];

// Calls each(i, cell) for what of the row's samples lies in a span of time and is not left out. Of requests that were
// chosen there is nothing else, but in a row of everything.
function eachSample(row, from, to, each) {
  const wanted = row.everything ? null : requestsWanted();
  const {a, b, cell, start, longest, request, from: first} = D.times, state = D.cells.state, shown = D.states.map((_, s) => !S.off.has(s));
  for (const th of row.threads)
    for (let i = first[th], end = first[th + 1]; i < end; i++) {
      if (start[i] - longest > to) break;
      if (a[i] <= to && b[i] >= from && shown[state[cell[i]]] && (!wanted || wanted[request[i]])) each(i, cell[i]);
    }
}

// Of a thread, by pixel: its state + 1, or 0; and whether its stack matches the search.
function rasterThread(row, from, to, w) {
  const state = new Uint16Array(w), hit = new Uint8Array(w), rank = new Uint8Array(w);
  const scale = w / (to - from), ranks = D.states.map(stateRank), c = D.cells;
  eachSample(row, from, to, (i, k) => {
    const a = sampleFrom(i), b = sampleTo(i), s = c.state[k], r = ranks[s], found = cellHits && cellHits[k] === 2 ? 1 : 0;
    const x0 = Math.max(0, (a - from) * scale | 0), x1 = Math.min(w, Math.max((b - from) * scale, (a - from) * scale + 1) | 0);
    for (let x = x0; x < x1; x++) {
      if (r >= rank[x]) { if (r > rank[x]) hit[x] = 0; rank[x] = r; state[x] = s + 1; hit[x] |= found; }
    }
  });
  return {state, hit};
}

// Of several threads, by pixel: how many of them were in each state, on average over the pixel.
function rasterGroup(row, from, to, w) {
  const sums = D.states.map(() => null), state = D.cells.state, scale = w / (to - from);
  eachSample(row, from, to, (i, k) => {
    const s = sums[state[k]] || (sums[state[k]] = new PixelSums(w));
    s.add((sampleFrom(i) - from) * scale, (sampleTo(i) - from) * scale);
  });
  return sums.map(s => s && s.done());
}

// How many of them had a stack that matches the search; null where there is none.
function rasterHits(row, from, to, w) {
  const sums = new PixelSums(w), scale = w / (to - from);
  if (!cellHits) return null;
  eachSample(row, from, to, (i, k) => {
    if (cellHits[k] === 2) sums.add((sampleFrom(i) - from) * scale, (sampleTo(i) - from) * scale);
  });
  return sums.done();
}

// How much of each of w pixels is covered, by how many: a stretch costs as much as its two ends.
class PixelSums {
  constructor(w) { this.w = w; this.part = new Float32Array(w + 1); this.step = new Float32Array(w + 2); }
  add(x0, x1) {
    if (x0 < 0) x0 = 0;
    if (x1 > this.w) x1 = this.w;
    if (x1 <= x0) return;
    const p = x0 | 0, q = x1 | 0;
    if (p === q) { this.part[p] += x1 - x0; return; }
    this.part[p] += p + 1 - x0;
    this.part[q] += x1 - q;
    this.step[p + 1]++; this.step[q]--; // whole pixels
  }
  done() {
    for (let x = 0, n = 0; x < this.w; x++) this.part[x] += n += this.step[x];
    return this.part;
  }
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
  eachSample(row, us, us, (i, k) => {
    const r = stateRank(D.states[D.cells.state[k]]);
    if (r >= rank) { rank = r; best = i; }
  });
  return best;
}

// The time for which a thread was in one state, as far as its samples tell, around one of these:
// between two of them is no sample of another state, nor a gap of more than an interval.
function segmentOf(row, i) {
  const list = rowSamples(row), c = D.cells, t = D.times, state = k => c.state[t.cell[list[k]]];
  const slack = 1.5 * t.longest;
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

