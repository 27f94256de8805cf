// SPDX-License-Identifier: Apache-2.0
// The table of methods: their own time, that of what they called, and in which states it was.

const METHODS_SHOWN = 200;

// What never changes: the first cell at or behind each node; whether a node is the outermost of its
// frame on its stack (a method that calls itself counts once); the nodes of each frame.
function methodsIndex() {
  const {n, parent, frame} = D.base, c = D.cells, from = new Int32Array(n + 1), outer = new Uint8Array(n);
  const open = new Int32Array(D.frames), first = new Int32Array(D.frames + 1), nodes = new Int32Array(n);
  for (let i = 0, k = 0; i <= n; i++) { while (k < c.n && c.cut[k] < i) k++; from[i] = k; }
  for (let i = 1, top = 0; i < n; top = i++) {
    for (; top !== parent[i]; top = parent[top]) open[frame[top]]--;
    outer[i] = open[frame[i]]++ ? 0 : 1;
  }
  for (let i = 1; i < n; i++) if (outer[i]) first[frame[i]]++;
  for (let f = 0, sum = 0; f <= D.frames; f++) { const k = first[f]; first[f] = sum; sum += k || 0; }
  const next = first.slice();
  for (let i = 1; i < n; i++) if (outer[i]) nodes[next[frame[i]]++] = i;
  return {from, outer, first, nodes};
}

// By frame, of each side: self and total. In stacks with Java, native frames that are folded away
// have nothing of their own.
function methodsWeigh() {
  const {end, frame, kept} = D.base, c = D.cells, x = D.methods = D.methods || methodsIndex();
  const sides = T.w.map((w, side) => {
    const self = new Float64Array(D.frames), total = new Float64Array(D.frames);
    if (side && !T.diff) return {self, total, all: 0};
    const all = new Float64Array(c.n + 1), native = new Float64Array(c.n + 1);
    for (let i = 0; i < c.n; i++) {
      all[i + 1] = all[i] + w[i];
      native[i + 1] = native[i] + (c.java[i] ? 0 : w[i]);
      if (w[i]) self[frame[leafOf(D.base, c.node[i], T.fold)]] += w[i];
    }
    for (let i = 1; i < D.base.n; i++) {
      if (!x.outer[i]) continue;
      const sum = T.fold && kept[i] !== i ? native : all;
      total[frame[i]] += sum[x.from[end[i]]] - sum[x.from[i]];
    }
    return {self, total, all: all[c.n]};
  });
  return {of: T, sides};
}

// How long stacks with a frame were in each state.
function methodStates(f) {
  const {end, kept} = D.base, c = D.cells, x = D.methods, us = new Float64Array(D.states.length), [w, v] = T.w;
  for (let k = x.first[f]; k < x.first[f + 1]; k++) {
    const i = x.nodes[k], every = !T.fold || kept[i] === i;
    for (let j = x.from[i]; j < x.from[end[i]]; j++)
      if (every || !c.java[j]) us[c.state[j]] += w[j] + v[j];
  }
  return us;
}

function methodsSorted() {
  if (!D.weighed || D.weighed.of !== T) D.weighed = methodsWeigh();
  const {sides} = D.weighed, key = f => sides[0][S.sort][f] + sides[1][S.sort][f], list = [];
  for (let f = 1; f < D.frames; f++)
    if (sides[0].total[f] + sides[1].total[f] > 0 && (!match || match[f])) list.push(f);
  if (S.sort === 'name') return list.sort((a, b) => D.names[a] < D.names[b] ? -1 : 1);
  return list.sort((a, b) => key(b) - key(a) || (D.names[a] < D.names[b] ? -1 : 1));
}

function cell(row, text, type) {
  const td = document.createElement('td');
  td.textContent = text;
  if (type) td.className = type;
  row.append(td);
  return td;
}

function stateBar(td, us) {
  const all = us.reduce((a, b) => a + b, 0);
  td.className = 'bar';
  td.title = all ? sharesSaid(D.states.map((name, s) => [name, us[s] / all])) : '';
  D.states.forEach((name, s) => {
    if (!(us[s] / all > .003)) return;
    const i = document.createElement('i');
    i.style.width = 100 * us[s] / all + '%';
    i.style.background = stateColour(name);
    td.append(i);
  });
}

function methodShare(kind, f) {
  const [a, b] = D.weighed.sides, share = s => pct(s[kind][f], s.all);
  const [one, two] = sideNames();
  return compared() ? `${one} ${share(a)}  ${two} ${share(b)}` : `${fmtUs(a[kind][f])} · ${share(a)}`;
}

function methodsDraw() {
  $('methods').hidden = S.tab !== 'methods';
  if (!T || S.tab !== 'methods') return;
  const body = $('methods-body'), list = methodsSorted();
  crumbs();
  body.textContent = '';
  for (const th of document.querySelectorAll('#methods th[data-sort]')) th.setAttribute('aria-sort', th.dataset.sort === S.sort ? 'descending' : 'none');
  for (const f of list.slice(0, METHODS_SHOWN)) {
    const tr = document.createElement('tr');
    tr.tabIndex = 0;
    tr.dataset.frame = f;
    cell(tr, methodShare('self', f), 'number');
    cell(tr, methodShare('total', f), 'number');
    stateBar(cell(tr, ''), methodStates(f));
    const name = cell(tr, D.names[f], 'name'), type = document.createElement('small');
    if (isNative(D.types[f])) { type.textContent = ' ' + TYPE_LABEL[D.types[f]]; name.append(type); }
    body.append(tr);
  }
  $('methods-more').textContent = list.length > METHODS_SHOWN ? `and ${(list.length - METHODS_SHOWN).toLocaleString('en')} more: a search narrows them`
    : list.length ? '' : 'No such method has time here.';
  $('detail').textContent = 'Enter or a click on a method shows who calls it.';
}

// Who calls a method, in the flame graph.
function methodShow(f) {
  S.tab = 'flame'; S.flip = false; S.reverse = true; S.split = '';
  S.query = '^' + D.names[f].replace(/[.*+?^${}()|[\]\\]/g, '\\$&') + '$';
  $('search').value = S.query;
  tabs(); controls(); remake([f], [f]);
  scrollHome();
}

function methodsEvents() {
  const body = $('methods-body'), of = e => e.target.closest('tr');
  body.onclick = e => { const tr = of(e); if (tr && !getSelection().toString()) act('method', () => methodShow(+tr.dataset.frame)); };
  body.onkeydown = e => {
    const tr = of(e), to = e.key === 'ArrowDown' ? tr.nextSibling : e.key === 'ArrowUp' ? tr.previousSibling : null;
    if (e.key === 'Enter') act('method', () => methodShow(+tr.dataset.frame));
    else if (to) to.focus();
    else return;
    e.preventDefault(); e.stopPropagation();
  };
  for (const th of document.querySelectorAll('#methods th[data-sort]'))
    th.onclick = () => act('sort', () => { S.sort = th.dataset.sort; methodsDraw(); linkWrite(); });
}

