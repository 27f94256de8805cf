// SPDX-License-Identifier: Apache-2.0
// What waits wait for: (kind) cause. Below a lock stands [who had it], and that thread's frames at the same tick, and
// what it waited for in turn; [deadlock] where that comes round. In the Causes tab stacks go on with these, and are
// split by cause at first; elsewhere they end at the cause.

// A sleep is its own: it lasts as long as the program has it.
const noCause = cell => D.states[D.cells.state[cell]] === 'SLEEPING' ? '(sleep)' : '(cause not known)';

function hasCauses() {
  if (D.causes === undefined) D.causes = D.types.subarray(0, D.frames).includes(CAUSE);
  return D.causes;
}

// Whether stacks are looked at with owners, or without.
function cellsFollow() {
  const c = D.cells, on = S.tab === 'causes';
  c.node = on ? c.below : c.cut;
  c.java = on ? c.belowJava : c.cutJava;
}

const usualSplit = () => S.tab === 'causes' && !S.reverse ? 'cause' : '';

// The tab shows what waits, by cause; what was looked at before comes back behind it.
function causesUsual(on) {
  if (on) {
    causesUsual.before = {dim: S.dim, split: S.split};
    if (head.totals_us[2]) S.dim = 2;
    S.split = usualSplit();
    return;
  }
  const before = causesUsual.before || {dim: S.dim, split: ''};
  if (S.dim === 2) S.dim = before.dim;
  if (S.split === 'cause') S.split = before.split;
}

const isCause = n => n > 0 && D.types[D.base.frame[n]] === CAUSE;

// What a cell waits for, in words; '' where that is not known.
const causeOf = cell => { const n = D.cells.cut[cell]; return isCause(n) ? D.names[D.base.frame[n]] : ''; };

// Whom it waits for, and that one, and so on: [{cause, owner, frame: what the owner does, innermost, or ''}, ...], the
// last without an owner where that is not known; and whether they wait for each other.
function chainOf(cell) {
  const {parent, frame} = D.base, path = [], chain = [], end = D.cells.cut[cell];
  let circle = false;
  if (!isCause(end)) return {chain, circle};
  for (let n = D.cells.below[cell]; n !== end; n = parent[n]) path.unshift(n);
  chain.push({cause: D.names[frame[end]], owner: '', frame: ''});
  for (const n of path) {
    const name = D.names[frame[n]], last = chain[chain.length - 1];
    if (!isCause(n)) { if (D.types[frame[n]] === JAVA || !last.frame) last.frame = shortName(name, D.types[frame[n]]); }
    else if (name === '[deadlock]' && last.owner) circle = true;
    else if (!last.owner) last.owner = name.slice(1, -1);
    else chain.push({cause: name, owner: '', frame: ''});
  }
  return {chain, circle};
}

// The threads of a name: one, or it is not known which.
const threadsNamed = name => TL.selves.filter(s => s && s.threads.some(t => D.threads[t] === name));

function causeLines(cell) {
  const {chain, circle} = chainOf(cell), lines = [];
  chain.forEach((c, k) => {
    lines.push(`${k ? 'which waits for' : 'waits for'} ${c.cause}`);
    if (!c.owner) return;
    const many = threadsNamed(c.owner).length;
    lines.push(`  that ${c.owner} has${many > 1 ? ` (one of ${many} of that name)` : ''}${c.frame ? `, in ${c.frame}` : ''}`);
  });
  if (circle) lines.push('  and so they wait for each other: a deadlock');
  return lines;
}

// ---- on the timeline ----------------------------------------------------------------------------

// Where a thread is drawn: its row, or its pool's.
function rowOf(self) {
  return TL.rows.find(r => r.kind === 'thread' && r.self === self) || TL.rows.find(r => r.kind === 'group' && r.members.some(s => s.self === self));
}

// Rows of those that a segment's sample waits for, one after the other, as far as they are known.
function ownerRows(seg) {
  const rows = [];
  for (const c of chainOf(D.times.cell[seg.i]).chain) {
    const who = c.owner ? threadsNamed(c.owner) : [], row = who.length === 1 ? rowOf(who[0].self) : null;
    if (!row) break;
    rows.push({row, self: who[0].self});
  }
  return rows;
}

// From the waiting thread to the owner of what it waits for, at the same time, and on to whom that one waits for.
function arrowsDraw(g, seg, x, view, look) {
  const fixed = lanesHeight(), top = $('tl-scroll').scrollTop, yOf = row => Math.max(fixed + 4, Math.min(view - 4, fixed + row.y - top + row.h / 2));
  let from = yOf(seg.row), at = x(seg.at === undefined ? (seg.from + seg.to) / 2 : seg.at);
  TL.arrows = 0;
  g.fillStyle = g.strokeStyle = look.select; g.lineWidth = 2;
  for (const {row} of ownerRows(seg)) {
    const to = yOf(row), way = to < from ? -1 : 1;
    TL.arrows++;
    if (Math.abs(to - from) < 6) continue; // in one pool's row
    g.beginPath(); g.arc(at, from, 3, 0, 7); g.fill();
    g.beginPath(); g.moveTo(at, from); g.lineTo(at, to - 7 * way); g.stroke();
    g.beginPath(); g.moveTo(at, to); g.lineTo(at - 5, to - 9 * way); g.lineTo(at + 5, to - 9 * way); g.fill();
    from = to;
    at += 8;
  }
}

// The cursor to the owner, at the same time; its pool is unfolded for that.
function ownerShow(seg) {
  const [first] = ownerRows(seg), us = seg.at;
  if (!first) return;
  if (first.row.kind === 'group') { TL.open.add(first.row.key); timelineRows(); }
  const row = rowOf(first.self);
  if (row) cursorTo(row, us);
}

