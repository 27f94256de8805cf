// SPDX-License-Identifier: Apache-2.0
// The recording as the page has it: user/out/html_data.c tells the form.

const JAVA = 7, GROUP = 8, CAUSE = 9; // types of frames: a method of whatever tier; what is split by; what is waited for
const TIER_LABEL = ['interpreted', 'C1', 'C2', 'inlined'], TIERS = TIER_LABEL.length;
const JAVA_TYPES = [0, 1, 2, 6, JAVA]; // the others are what ran a method, with --split-tiers

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function inflate(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Columns of numbers, bytes and names, one after the other.
class Columns {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }
  number() {
    let v = 0, m = 1, b;
    do { b = this.bytes[this.at++]; v += (b & 127) * m; m *= 128; } while (b & 128);
    return v;
  }
  // n numbers into an array of their own.
  numbers(n, Type = Int32Array) {
    const out = new Type(n), bytes = this.bytes;
    let at = this.at;
    for (let i = 0; i < n; i++) {
      let b = bytes[at++];
      if (b < 128) { out[i] = b; continue; }
      let v = b & 127, m = 128;
      do { b = bytes[at++]; v += (b & 127) * m; m *= 128; } while (b & 128);
      out[i] = v;
    }
    this.at = at;
    return out;
  }
  take(n) { this.at += n; return this.bytes.subarray(this.at - n, this.at); }
  names(n) {
    const lengths = this.numbers(n), utf8 = new TextDecoder(), out = new Array(n);
    for (let i = 0; i < n; i++) out[i] = utf8.decode(this.take(lengths[i]));
    return out;
  }
}

// Every node's parent, and the end of the nodes below it, which follow it at once.
function decodeNodes(c, types) {
  const n = c.number(), up = c.numbers(n - 1), parent = new Int32Array(n), end = new Int32Array(n), frame = new Int32Array(n);
  parent[0] = -1;
  for (let i = 1; i < n; i++) {
    let p = i - 1;
    for (let k = up[i - 1]; k > 0; k--) p = parent[p];
    parent[i] = p;
  }
  frame.set(c.numbers(n - 1), 1);
  for (let i = n - 1; i >= 0; i--) {
    end[i] = end[i] || i + 1;
    if (i && end[parent[i]] < end[i]) end[parent[i]] = end[i];
  }
  return {n, parent, frame, end, tiers: decodeTiers(c, n, frame, types)};
}

// Percent of each tier, by node.
function decodeTiers(c, n, frame, types) {
  if (!c.number()) return null;
  const tiers = new Uint8Array(TIERS * n);
  for (let i = 1; i < n; i++) {
    if (types[frame[i]] !== JAVA) continue;
    const tier = c.bytes[c.at++];
    if (tier < TIERS) tiers[TIERS * i + tier] = 100;
    else if (tier > TIERS) tiers.set(c.take(TIERS), TIERS * i);
  }
  return tiers;
}

// What is left of a stack with Java where native frames are folded away: its Java frames, and the
// recorder's own marks, such as that callers are not known or what is waited for. Of each node: whether it or a node above
// it is Java (hasJava), the innermost such frame, itself or above it (kept, 0 if there is none), and
// whether there is one at it or below (below).
function findJava(base, types, names) {
  const {n, parent, frame} = base, isJava = new Uint8Array(256);
  for (const t of JAVA_TYPES) isJava[t] = 1;
  const mark = Uint8Array.from(names, (s, f) => s.startsWith('(gnomon).') || types[f] === CAUSE ? 1 : 0);
  const hasJava = new Uint8Array(n), kept = new Int32Array(n), below = new Uint8Array(n);
  for (let i = 1; i < n; i++) {
    const java = isJava[types[frame[i]]];
    hasJava[i] = java | hasJava[parent[i]];
    kept[i] = java || mark[frame[i]] ? i : kept[parent[i]];
  }
  for (let i = n - 1; i > 0; i--) {
    if (kept[i] === i) below[i] = 1;
    if (below[i]) below[parent[i]] = 1;
  }
  Object.assign(base, {hasJava, kept, below});
}

function decodeCells(c, periods) {
  const n = c.number(), node = c.numbers(n), thread = c.numbers(n), state = c.numbers(n, Uint16Array);
  const flags = c.take(n), samples = c.numbers(n, Float64Array), us = c.numbers(n, Float64Array);
  const dims = new Uint8Array(n), side = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    if (i) node[i] += node[i - 1];
    dims[i] = flags[i] & 7;
    side[i] = flags[i] >> 3 & 1;
    us[i] = us[i] ? us[i] - 1 : samples[i] * periods[flags[i] >> 4];
  }
  return {n, node, thread, state, dims, side, us, samples, source: flags.map(f => f >> 4)};
}

// Stacks of waits for a lock go on below it with what its owner did, and so on: `below`. Without that they
// end at what is waited for: `cut`. (Which of both is looked at is `node`: view.js.)
function cutCells(c, base, types) {
  const {n, parent, frame, hasJava} = base, cut = new Int32Array(n);
  let owners = false;
  for (let i = 1; i < n; i++) {
    const p = parent[i];
    cut[i] = cut[p] !== p ? cut[p] : types[frame[p]] === CAUSE ? p : i;
    owners = owners || cut[i] !== i;
  }
  c.below = c.node;
  c.cut = owners ? c.node.map(i => cut[i]) : c.node;
  c.belowJava = Uint8Array.from(c.below, i => hasJava[i]); // the stack has Java in it
  c.cutJava = owners ? Uint8Array.from(c.cut, i => hasJava[i]) : c.belowJava;
  c.node = c.cut; c.java = c.cutJava;
}

// By thread and start; those of thread t are from[t] .. from[t + 1] - 1.
function decodeTimes(c, d, unit, periods) {
  const from = new Int32Array(d.threads.length + 1);
  if (!c.number()) return {n: 0, from};
  const counts = c.numbers(d.threads.length), cellsOf = counts.length ? cellsByThread(d) : null;
  for (let t = 0; t < counts.length; t++) from[t + 1] = from[t] + counts[t];
  const n = from[counts.length], cell = c.numbers(n), start = c.numbers(n, Float64Array);
  const ticks = c.numbers(n, Float64Array), span = c.numbers(n, Float64Array);
  for (let t = 0; t < counts.length; t++) {
    let at = 0;
    const first = cellsOf.from[t];
    for (let i = from[t]; i < from[t + 1]; i++) {
      const k = cell[i] = cellsOf.cells[first + cell[i]];
      at += start[i];
      start[i] = at * unit;
      span[i] = span[i] ? (span[i] - 1) * unit : (ticks[i] - 1) * periods[d.cells.source[k]];
    }
  }
  // of which of head.requests.told they are, + 1; 0: of none
  return {n, from, cell, start, ticks, span, request: c.number() ? c.numbers(n) : null};
}

function cellsByThread(d) {
  const {n, thread} = d.cells, from = new Int32Array(d.threads.length + 2), cells = new Int32Array(n);
  for (let i = 0; i < n; i++) from[thread[i] + 2]++;
  for (let t = 2; t < from.length; t++) from[t] += from[t - 1];
  for (let i = 0; i < n; i++) cells[from[thread[i] + 1]++] = i;
  return {from, cells};
}

// head: what the page knows besides, see html.c.
function decode(bytes, head) {
  const c = new Columns(bytes), d = {};
  let n = c.number();
  d.types = c.take(n).slice();
  d.names = c.names(n);
  d.frames = n; // labels come behind
  d.base = decodeNodes(c, d.types);
  findJava(d.base, d.types, d.names);
  d.groups = c.names(c.number());
  n = c.number();
  d.threads = c.names(n);
  d.groupOf = c.numbers(n); // of thread: group
  d.selfOf = c.numbers(n);
  d.flags = c.take(n).slice();
  d.states = c.names(c.number());
  d.cells = decodeCells(c, head.periods_us);
  cutCells(d.cells, d.base, d.types);
  d.times = decodeTimes(c, d, head.time_unit_us, head.periods_us);
  return d;
}

