// SPDX-License-Identifier: Apache-2.0
// Trees of what is looked at: the weight of every cell on both sides, after dimension, threads,
// states and time were chosen. They grow only where they are looked into (kids()), as most of a
// large one is too narrow to be drawn. Node 0 is the root; a node comes after its parent.
//
// With `fold`, stacks that have Java in them are of their Java frames alone: what these called in
// native code, the VM and the kernel is their own time. Other stacks are as they were.

// First index in a[lo..hi) whose value is not below x.
function lowerBound(a, lo, hi, x) {
  while (lo < hi) { const m = lo + hi >>> 1; if (a[m] < x) lo = m + 1; else hi = m; }
  return lo;
}

// The frame that a stack ends in, as node of the base tree.
const leafOf = (base, node, fold) => fold && base.java[node] || node;

class Tree {
  constructor(d, w, v, fold) {
    Object.assign(this, {d, w: [w, v], fold, parent: [-1], frame: [0], depth: [0], total: [0], other: [0],
      self: [0], native: [0], below: [null], mix: [null], sums: [null]});
  }
  add(p, f, total, other) {
    this.parent.push(p); this.frame.push(f); this.depth.push(p < 0 ? 0 : this.depth[p] + 1);
    this.total.push(total); this.other.push(other); this.self.push(0); this.native.push(0);
    this.below.push(null); this.mix.push(null); this.sums.push(null);
    return this.parent.length - 1;
  }
  // The children of n, made when first asked for.
  kids(n) {
    let k = this.below[n];
    if (!k || !k.done) { this.below[n] = k = this.grow(n, k || []); k.done = true; }
    return k;
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

// From the outermost frame inwards, with a root of its own for each label if there are labels.
// Nodes of the base tree are numbered in the order of their stacks, so the cells below one of them
// are a range of the cells in that order, and its weight a difference of two sums. What is below a
// node here is a list of such places: {cells, b: node of the base tree, lo, hi}.
class Forward extends Tree {
  constructor(d, w, v, {label, fold} = {}) {
    super(d, w, v, fold);
    const c = d.cells, java = d.base.java, groups = new Map();
    for (let i = 0; i < c.n; i++) {
      if (!w[i] && !v[i]) continue;
      const l = label ? label(i) : '';
      let g = groups.get(l);
      if (!g) groups.set(l, g = [[], []]);
      g[fold && java[c.node[i]] ? 1 : 0].push(i); // apart, as their trees are
    }
    const tops = [];
    for (const [l, parts] of groups) {
      const places = parts.filter(p => p.length).map(p => {
        const cells = new Cells(this, p);
        return {cells, b: 0, lo: 0, hi: cells.n, fold: p === parts[1]};
      });
      let total = 0, other = 0;
      for (const {cells: g} of places) { total += g.a[g.n]; other += g.o[g.n]; }
      this.total[0] += total; this.other[0] += other;
      if (!label) { this.below[0] = places; this.places = [places]; return; }
      const n = this.add(0, addFrame(d, l), total, other);
      this.below[n] = places;
      (this.places = this.places || [[]])[n] = places;
      tops.push(n);
    }
    tops.done = true;
    this.below[0] = tops;
    this.places = this.places || [[]];
    this.places[0] = this.places.flat();
  }
  grow(n, places) {
    const by = new Map(), kids = [];
    for (const p of places) this.gather(n, p, by);
    for (const [f, k] of by) {
      const kid = this.add(n, f, k.total, k.other);
      this.below[kid] = this.places[kid] = k.places;
      if (this.d.base.tiers) this.mix[kid] = this.tiers(k.places);
      kids.push(kid);
    }
    return kids;
  }
  // What is at a place is the node's own time; what is below it, its children's.
  gather(n, {cells: g, b, lo, hi, fold}, by) {
    const {parent, end, below, java} = this.d.base;
    let k = lowerBound(g.node, lo, hi, b + 1);
    const own = to => {
      this.self[n] += g.a[to] - g.a[k];
      this.native[n] += g.a[to] - g.a[k];
      k = to;
    };
    this.self[n] += g.a[k] - g.a[lo];
    if (fold && java[b] !== b) this.native[n] += g.a[k] - g.a[lo];
    while (k < hi) {
      let x = g.node[k];
      while (parent[x] !== b) x = parent[x];
      const to = lowerBound(g.node, k, hi, end[x]);
      if (!fold || java[x] === x) this.child(g, x, k, to, fold, by);
      else if (!below[x]) { own(to); continue; }
      else this.gather(n, {cells: g, b: x, lo: k, hi: to, fold}, by);
      k = to;
    }
  }
  child(g, x, lo, hi, fold, by) {
    const f = this.d.base.frame[x];
    let kid = by.get(f);
    if (!kid) by.set(f, kid = {total: 0, other: 0, places: []});
    kid.total += g.a[hi] - g.a[lo];
    kid.other += g.o[hi] - g.o[lo];
    kid.places.push({cells: g, b: x, lo, hi, fold});
  }
  tiers(places) {
    const {tiers} = this.d.base;
    if (places.length === 1) return tiers.subarray(TIERS * places[0].b, TIERS * (places[0].b + 1));
    const mix = new Float64Array(TIERS);
    for (const {cells: g, b, lo, hi} of places)
      for (let k = 0; k < TIERS; k++) mix[k] += (g.a[hi] - g.a[lo] + g.o[hi] - g.o[lo]) * tiers[TIERS * b + k];
    return mix;
  }
  // The weight of n in each state.
  states(n) {
    if (this.sums[n]) return this.sums[n];
    const us = new Float64Array(this.d.states.length);
    for (const {cells, lo, hi} of this.places[n] || []) {
      const sums = cells.byState();
      for (let s = 0; s < us.length; s++) if (sums[s]) us[s] += sums[s][hi] - sums[s][lo];
    }
    return this.sums[n] = us;
  }
}

// Leaf first: who called the methods that time is spent in. What lies below a node is a list of
// places in the base tree, with the weights of the stacks that lead there, ordered by state.
class Reverse extends Tree {
  constructor(d, w, v, {fold} = {}) {
    super(d, w, v, fold);
    const c = d.cells, at = {node: [], a: [], o: [], state: []}, us = new Float64Array(d.states.length);
    const byState = d.states.map(() => []);
    for (let i = 0; i < c.n; i++) if (w[i] || v[i]) byState[c.state[i]].push(i);
    for (const list of byState) for (const i of list) {
      at.node.push(leafOf(d.base, c.node[i], fold)); at.a.push(w[i]); at.o.push(v[i]); at.state.push(c.state[i]);
      this.total[0] += w[i]; this.other[0] += v[i];
      us[c.state[i]] += w[i] + v[i];
    }
    this.below[0] = at;
    this.sums[0] = us;
    Reverse.place = Reverse.place || new Int32Array(d.base.n); // all zero between uses
  }
  grow(n, {node, a, o, state}) {
    const {parent, frame, tiers, java} = this.d.base, by = new Map(), place = Reverse.place, kids = [];
    let seen = [];
    const forget = () => { for (const p of seen) place[p] = 0; seen = []; };
    for (let i = 0; i < node.length; i++) {
      const x = node[i];
      if (!x) { this.self[n] += a[i]; continue; } // the stack ends here
      if (i && state[i] !== state[i - 1]) forget();
      let g = by.get(frame[x]);
      if (!g) by.set(frame[x], g = {node: [], a: [], o: [], state: [], total: 0, other: 0,
        us: new Float64Array(this.d.states.length), mix: new Float64Array(TIERS)});
      g.total += a[i]; g.other += o[i];
      g.us[state[i]] += a[i] + o[i];
      for (let k = 0; k < TIERS && tiers; k++) g.mix[k] += (a[i] + o[i]) * tiers[TIERS * x + k];
      const p = this.fold && java[x] === x ? java[parent[x]] : parent[x];
      // stacks that go on in the same place are one, unless they came by different frames
      if (place[p] && g.node[place[p] - 1] === p && g.state[place[p] - 1] === state[i]) {
        g.a[place[p] - 1] += a[i]; g.o[place[p] - 1] += o[i];
        continue;
      }
      place[p] = g.node.push(p); g.a.push(a[i]); g.o.push(o[i]); g.state.push(state[i]);
      seen.push(p);
    }
    forget();
    for (const [f, g] of by) {
      const kid = this.add(n, f, g.total, g.other);
      this.below[kid] = g;
      this.mix[kid] = g.mix;
      this.sums[kid] = g.us;
      kids.push(kid);
    }
    return kids;
  }
  states(n) { return this.sums[n]; }
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

