// SPDX-License-Identifier: Apache-2.0
// Trees of what is looked at: the weight of every cell on both sides, after dimension, threads,
// states and time were chosen. They grow only where they are looked into (kids()), as most of a
// large one is too narrow to be drawn. Node 0 is the root; a node comes after its parent.
//
// With `fold`, stacks that have Java in them are of their Java frames alone: what these called in
// native code, the VM and the kernel is their own time. Other stacks are as they were. (See
// findJava() for what is kept.)

// First index in a[lo..hi) whose value is not below x.
function lowerBound(a, lo, hi, x) {
  while (lo < hi) { const m = lo + hi >>> 1; if (a[m] < x) lo = m + 1; else hi = m; }
  return lo;
}

// The frame that a stack ends in, as node of the base tree.
const leafOf = (base, node, fold) => fold && base.hasJava[node] ? base.kept[node] : node;

class Tree {
  constructor(d, w, v, {fold, diff} = {}) {
    Object.assign(this, {d, w: [w, v], fold, diff, parent: [-1], frame: [0], depth: [0], total: [0], other: [0],
      self: [0], native: [0], places: [[]], grown: [null], sums: [null]});
  }
  add(p, f, total, other, places) {
    this.parent.push(p); this.frame.push(f); this.depth.push(p < 0 ? 0 : this.depth[p] + 1);
    this.total.push(total); this.other.push(other); this.self.push(0); this.native.push(0);
    this.places.push(places); this.grown.push(null); this.sums.push(null);
    return this.parent.length - 1;
  }
  // How wide a node of these weights is. In a comparison it is its shares of both sides, so that
  // what vanished is still seen, and a longer recording does not outweigh the other.
  width(total, other) { return this.diff ? total / (this.total[0] || 1) + other / (this.other[0] || 1) : total; }
  // The children of n that are no narrower than `least`: {kids}; of others how many, and how wide
  // they are together: {many, rest}. Numbers of nodes stay when more of them are asked for.
  wide(n, least) {
    const g = this.grown[n];
    if (g && (g.least <= least || !g.many)) return g;
    return this.grown[n] = this.grow(n, least, g);
  }
  kids(n) { return this.wide(n, 0).kids; }
  // The child of n that is of frame f; -1 if there is none.
  kid(n, f) {
    const g = this.grown[n], is = k => this.frame[k] === f, k = g && g.kids.find(is);
    return k || (this.kids(n).find(is) ?? -1);
  }
  // Into nodes: what is known of each frame called, in `by`.
  kidsOf(n, by, out, before) {
    const known = before ? new Map(before.kids.map(k => [this.frame[k], k])) : null;
    for (const [f, k] of by) {
      const w = this.width(k.total, k.other);
      if (w < out.least) { out.many++; out.rest += w; continue; }
      out.kids.push(known && known.get(f) || this.add(n, f, k.total, k.other, k.places));
    }
    return out;
  }
}

// Cells of one label, in the order of their stacks, with their sums so far.
class Cells {
  constructor(tree, list) {
    const n = list.length, {d, w} = tree;
    Object.assign(this, {d, list, n, weight: w, node: new Int32Array(n), a: new Float64Array(n + 1), o: new Float64Array(n + 1)});
    for (let k = 0; k < n; k++) {
      const i = list[k];
      this.node[k] = d.cells.node[i];
      this.a[k + 1] = this.a[k] + w[0][i];
      this.o[k + 1] = this.o[k] + w[1][i];
    }
  }
  // Sums so far by state: made when colours or a tooltip first ask.
  byState() {
    if (this.sums) return this.sums;
    const {n, list, d, weight: [w, v]} = this, state = d.cells.state;
    this.sums = d.states.map(() => null);
    for (let s = 0; s < this.sums.length; s++) {
      const sum = new Float64Array(n + 1);
      for (let k = 0; k < n; k++) {
        const i = list[k];
        sum[k + 1] = sum[k] + (state[i] === s ? w[i] + v[i] : 0);
      }
      this.sums[s] = sum[n] ? sum : null;
    }
    return this.sums;
  }
}

// First index in a[lo..hi) whose value is not below x, where that is most likely near.
function nextBound(a, lo, hi, x) {
  let step = 1;
  while (lo + step < hi && a[lo + step] < x) { lo += step; step *= 2; }
  return lowerBound(a, lo, Math.min(hi, lo + step), x);
}

// From the outermost frame inwards, with a root of its own for each label if there are labels.
// Nodes of the base tree are numbered in the order of their stacks, so the cells below one of them
// are a range of the cells in that order, and its weight a difference of two sums. What is below a
// node here is a list of such places: {cells, b: node of the base tree, lo, hi, fold}.
class Forward extends Tree {
  constructor(d, w, v, options = {}) {
    super(d, w, v, options);
    const c = d.cells, groups = new Map(), {label, fold} = options, kids = [];
    let l = '', g;
    if (!label) groups.set('', g = [[], []]);
    for (let i = 0; i < c.n; i++) {
      if (!w[i] && !v[i]) continue;
      if (label && !(g = groups.get(l = label(i)))) groups.set(l, g = [[], []]);
      g[fold ? c.java[i] : 0].push(i); // apart, as their trees are
    }
    for (const [name, parts] of groups) {
      const places = parts.filter(p => p.length).map(p => {
        const cells = new Cells(this, p);
        return {cells, b: 0, lo: 0, hi: cells.n, fold: p === parts[1]};
      });
      let total = 0, other = 0;
      for (const p of places) { total += p.cells.a[p.hi]; other += p.cells.o[p.hi]; }
      this.total[0] += total; this.other[0] += other;
      this.places[0].push(...places);
      if (label) kids.push(this.add(0, addFrame(d, name), total, other, places));
    }
    if (label) this.grown[0] = {least: 0, kids, many: 0, rest: 0};
  }
  grow(n, least, before) {
    const places = this.places[n], out = {least, kids: [], many: 0, rest: 0};
    // what is narrow in one place may be wide with another
    let by = places.length === 1 ? this.gather(n, new Map(), out, least) : null;
    if (!by) {
      out.many = out.rest = 0;
      by = this.gather(n, new Map(), out, 0);
    }
    return this.kidsOf(n, by, out, before);
  }
  // What is at a place is the node's own time; what is below it, its children's. Null: frames were
  // left out as too narrow that come together with others.
  gather(n, by, out, least) {
    this.self[n] = this.native[n] = 0;
    for (const {cells, b, lo, hi, fold} of this.places[n])
      if (!this.gatherPlace(n, cells, b, lo, hi, fold, by, out, least)) return null;
    return by;
  }
  gatherPlace(n, g, b, lo, hi, fold, by, out, least) {
    const {end, below, kept} = this.d.base, {a, o, node} = g;
    let k = nextBound(node, lo, hi, b + 1), x = b;
    this.own(n, g, lo, k, fold && kept[b] !== b);
    while (k < hi) {
      x = this.childAt(b, x, node[k]);
      const to = nextBound(node, k, hi, end[x]), folded = fold && kept[x] !== x;
      if (folded && below[x]) {
        if (least) return false;
        this.gatherPlace(n, g, x, k, to, fold, by, out, 0);
      } else if (folded) this.own(n, g, k, to, true);
      else if (least && this.width(a[to] - a[k], o[to] - o[k]) < least) { out.many++; out.rest += this.width(a[to] - a[k], o[to] - o[k]); }
      else this.child(g, x, k, to, fold, by);
      k = to;
    }
    return true;
  }
  own(n, g, from, to, native) {
    const us = g.a[to] - g.a[from];
    this.self[n] += us;
    if (native) this.native[n] += us;
  }
  // The child of b that has a node below it, behind its child x, or b itself.
  childAt(b, x, node) {
    const {parent, end} = this.d.base;
    x = x === b ? b + 1 : end[x];
    for (let k = 0; k < 8; k++) { if (node < end[x]) return x; x = end[x]; }
    while (parent[node] !== b) node = parent[node];
    return node;
  }
  child(g, x, lo, hi, fold, by) {
    const f = this.d.base.frame[x];
    let kid = by.get(f);
    if (!kid) by.set(f, kid = {total: 0, other: 0, places: []});
    kid.total += g.a[hi] - g.a[lo];
    kid.other += g.o[hi] - g.o[lo];
    kid.places.push({cells: g, b: x, lo, hi, fold});
  }
  // The weight of n by the tiers that ran it.
  tiers(n) {
    const {tiers} = this.d.base, mix = new Float64Array(TIERS);
    if (!tiers || this.d.types[this.frame[n]] !== JAVA) return mix;
    for (const {cells: g, b, lo, hi} of this.places[n])
      for (let k = 0; k < TIERS; k++) mix[k] += (g.a[hi] - g.a[lo] + g.o[hi] - g.o[lo]) * tiers[TIERS * b + k];
    return mix;
  }
  // The weight of n in each state.
  states(n) {
    if (this.sums[n]) return this.sums[n];
    const us = new Float64Array(this.d.states.length);
    for (const {cells, lo, hi} of this.places[n]) {
      const sums = cells.byState();
      for (let s = 0; s < us.length; s++) if (sums[s]) us[s] += sums[s][hi] - sums[s][lo];
    }
    return this.sums[n] = us;
  }
}

// Leaf first: who called the methods that time is spent in. A node is a list of entries of the node
// above it: places in the base tree, with the weights of the stacks that came there, by state; those
// of folded stacks apart, as if in other states (+ the number of states).
class Reverse extends Tree {
  constructor(d, w, v, options = {}) {
    super(d, w, v, options);
    const c = d.cells, states = d.states.length, {fold} = options, stateOf = i => c.state[i] + (fold && c.java[i] ? states : 0);
    const next = new Int32Array(2 * states + 1);
    for (let i = 0; i < c.n; i++) if (w[i] || v[i]) next[stateOf(i) + 1]++;
    for (let s = 1; s < next.length; s++) next[s] += next[s - 1];
    const n = next[2 * states], at = {node: new Int32Array(n), a: new Float64Array(n), o: new Float64Array(n), state: new Uint16Array(n)};
    for (let i = 0; i < c.n; i++) {
      if (!w[i] && !v[i]) continue;
      const s = stateOf(i), k = next[s]++;
      at.node[k] = leafOf(d.base, c.node[i], fold); at.a[k] = w[i]; at.o[k] = v[i]; at.state[k] = s;
      this.total[0] += w[i]; this.other[0] += v[i];
    }
    this.places[0] = {at, list: null, own: at};
    Reverse.place = Reverse.place || new Int32Array(d.base.n); // all zero between uses
  }
  // Where the stacks of a node go on: those that go on in one place are one, state by state.
  callers(n) {
    const k = this.places[n], {parent, kept} = this.d.base, place = Reverse.place, states = this.d.states.length;
    if (k.own) return k.own;
    const {node, a, o, state} = k.at, own = k.own = {node: [], a: [], o: [], state: []};
    let from = 0, s = -1;
    const forget = () => { for (; from < own.node.length; from++) place[own.node[from]] = 0; };
    for (const i of k.list) {
      const x = node[i], p = state[i] >= states ? kept[parent[x]] : parent[x];
      if (state[i] !== s) { forget(); s = state[i]; }
      if (place[p]) { own.a[place[p] - 1] += a[i]; own.o[place[p] - 1] += o[i]; continue; }
      place[p] = own.node.push(p);
      own.a.push(a[i]); own.o.push(o[i]); own.state.push(s);
    }
    forget();
    return own;
  }
  grow(n, least, before) {
    const at = this.callers(n), {node, a, o} = at, frame = this.d.base.frame, by = new Map();
    this.self[n] = 0;
    for (let i = 0; i < node.length; i++) {
      const x = node[i];
      if (!x) { this.self[n] += a[i]; continue; } // the stack ends here
      let g = by.get(frame[x]);
      if (!g) by.set(frame[x], g = {total: 0, other: 0, places: {at, list: [], own: null}});
      g.total += a[i]; g.other += o[i];
      g.places.list.push(i);
    }
    return this.kidsOf(n, by, {least, kids: [], many: 0, rest: 0}, before);
  }
  // Calls each(place in the base tree, weight, state) for all that a node is made of.
  entries(n, each) {
    const {at: {node, a, o, state}, list} = this.places[n];
    if (list) for (const i of list) each(node[i], a[i] + o[i], state[i]);
    else for (let i = 0; i < node.length; i++) each(node[i], a[i] + o[i], state[i]);
  }
  tiers(n) {
    const {tiers} = this.d.base, mix = new Float64Array(TIERS);
    if (n && tiers) this.entries(n, (x, us) => { for (let k = 0; k < TIERS; k++) mix[k] += us * tiers[TIERS * x + k]; });
    return mix;
  }
  states(n) {
    if (this.sums[n]) return this.sums[n];
    const count = this.d.states.length, sums = new Float64Array(count);
    this.entries(n, (x, us, s) => { sums[s % count] += us; });
    return this.sums[n] = sums;
  }
}

// The number of a label as if it were a frame.
function addFrame(d, name) {
  d.labels = d.labels || new Map();
  if (!d.labels.has(name)) {
    d.labels.set(name, d.names.length);
    d.names.push(name);
    if (d.names.length > d.types.length) {
      const types = new Uint8Array(d.names.length * 2).fill(GROUP);
      types.set(d.types.subarray(0, d.names.length - 1));
      d.types = types;
    }
  }
  return d.labels.get(name);
}

