// SPDX-License-Identifier: Apache-2.0
// Tabs, switches and what stands out.

// Another tab is one more line here, and its section in page.html.
const TABS = [{id: 'flame', name: 'Flame graph', section: 'flame', key: ''},
  {id: 'causes', name: 'Causes', section: 'flame', key: 'w', has: () => hasCauses()},
  {id: 'requests', name: 'Requests', section: 'requests', key: 'e', has: () => !!head.requests},
  {id: 'methods', name: 'Methods', section: 'methods', key: 'm'}];

const tabsHere = () => TABS.filter(t => !t.has || t.has());

// The flame graph is there, of whatever.
const inFlame = () => S.tab === 'flame' || S.tab === 'causes';

function tabs() {
  const el = $('tabs');
  el.textContent = '';
  for (const t of TABS) $(t.section).hidden = true;
  for (const t of tabsHere()) {
    const b = button(t.name, t.key, () => act('tab', () => tabOpen(t.id)));
    b.setAttribute('role', 'tab');
    b.setAttribute('aria-selected', S.tab === t.id);
    el.append(b);
    if (S.tab === t.id) $(t.section).hidden = false;
  }
}

// To a tab, or from it back to the flame graph.
const tabToggle = id => tabsHere().some(t => t.id === id) && act('tab', () => tabOpen(S.tab === id ? 'flame' : id));

function tabOpen(id) {
  const changes = (id === 'causes') !== (S.tab === 'causes');
  S.tab = id;
  if (changes) causesUsual(id === 'causes');
  tabs(); controls();
  if (changes) remake(); else drawAll();
}

function radio(box, items) {
  box.textContent = '';
  for (const it of items) {
    const b = button(it.text, it.title || '', it.go);
    b.setAttribute('role', 'radio'); b.setAttribute('aria-checked', it.on);
    if (it.small) { const s = document.createElement('small'); s.textContent = it.small; b.append(s); }
    b.disabled = !!it.off;
    box.append(b);
  }
}

function chip(text, colour, pressed, go, title) {
  const b = document.createElement(go ? 'button' : 'span');
  b.className = 'chip';
  if (colour) { const i = document.createElement('i'); i.style.background = colour; b.append(i); }
  b.append(text);
  if (go) { b.setAttribute('aria-pressed', pressed); b.onclick = go; b.title = title || ''; }
  return b;
}

// Of a dimension, as the recorder counted it, without the states that are left out.
function dimTotal(d) {
  let us = head.totals_us[d];
  for (const s of S.off) us -= head.states_us[s][d];
  return us;
}

function setDim(i) {
  if (!head.totals_us[i] && !head.diff) return;
  S.dim = i;
  controls(); act('dimension', reweigh);
}

function setOrient(flip, reverse) {
  const changed = reverse !== S.reverse;
  S.flip = flip; S.reverse = reverse;
  if (reverse) S.split = '';
  controls();
  act('direction', () => { if (changed) remake(); else draw(); });
  scrollHome(); linkWrite();
}

function setJava(on) { S.java = on; controls(); act('java only', () => remake()); }
function setTrunks(on) { S.trunks = on; S.open = new Set(); controls(); act('trunks', drawAll); }

function toggleState(s) {
  if (!S.off.delete(s)) S.off.add(s);
  controls();
  act('state', reweigh);
}

function controls() {
  radio($('dims'), head.dims.map((d, i) => ({text: DIM_LABEL[d], small: fmtUs(dimTotal(i)), on: S.dim === i,
    off: !head.totals_us[i] && !head.diff, go: () => setDim(i), title: `key ${i + 1}`})));
  radio($('orient'), [
    {text: 'Icicle', on: !S.flip && !S.reverse, go: () => setOrient(false, false), title: 'callers above (i)'},
    {text: 'Flame', on: S.flip && !S.reverse, go: () => setOrient(true, false), title: 'callers below (i)'},
    {text: 'Callers', on: S.reverse, go: () => setOrient(false, true), title: 'methods first, their callers below (r)'}]);
  const folds = $('folds');
  folds.textContent = '';
  if (hasBoth()) folds.append(chip('Java only', '', S.java, () => setJava(!S.java), 'native frames of Java threads folded away (j)'));
  folds.append(chip('fold trunks', '', S.trunks, () => setTrunks(!S.trunks), 'runs of frames that call one other each are one row (t)'));
  folds.hidden = S.tab === 'requests';
  $('orient').hidden = folds.lastChild.hidden = $('split-label').hidden = !inFlame();
  $('split').value = S.split;
  bandsControl(); statesFill(); legendFill();
}

function statesFill() {
  const el = $('states');
  el.textContent = '';
  D.states.forEach((name, s) => {
    const idle = s === head.idle && S.off.has(s), text = idle ? `${name} (${fmtUs(head.states_us[s][1])} left out)` : name;
    el.append(chip(text, stateColour(name), !S.off.has(s), () => toggleState(s), 'shown or left out'));
  });
}

function legendFill() {
  const el = $('legend'), seen = new Set();
  el.textContent = '';
  if (compared()) { const [, b] = sideNames(); el.append(chip(`less in ${b}`, 'hsl(212 75% 62%)'), chip(`more in ${b}`, 'hsl(8 75% 62%)')); return; }
  if (byState() || !inFlame()) return; // the states' own colours
  for (let i = 1; i < D.base.n; i++) seen.add(D.types[D.base.frame[i]]);
  [...seen].sort().forEach(t => el.append(chip(TYPE_LABEL[t], typeColour(t, '', false))));
}

// ---- threads ------------------------------------------------------------------------------------

const THREADS_LISTED = 2000;

function threadsFill() {
  const sel = $('thread'), add = (text, value, to) => {
    const o = document.createElement('option'); o.textContent = text; o.value = value; to.append(o);
  };
  const part = label => { const og = document.createElement('optgroup'); og.label = label; sel.append(og); return og; };
  const count = new Map(), selves = new Map();
  D.threads.forEach((name, t) => selves.set(D.selfOf[t], [name, D.groupOf[t]]));
  for (const [, g] of selves.values()) count.set(g, (count.get(g) || 0) + 1);
  add('all', '', sel);
  if (D.flags.some(f => f & 1)) add('virtual threads', 'v', sel);
  const many = [...count].filter(([, n]) => n > 1).map(([g, n]) => [`${D.groups[g]} (${n.toLocaleString('en')})`, 'g' + g]).sort();
  if (many.length) { const og = part('pools'); many.forEach(([text, v]) => add(text, v, og)); }
  const og = part('threads'), list = [...selves].map(([self, [name]]) => [name, 't' + self]).sort();
  list.slice(0, THREADS_LISTED).forEach(([text, v]) => add(text, v, og));
  if (list.length > THREADS_LISTED) og.label += ` (${THREADS_LISTED} of ${list.length}: the timeline has all)`;
}

function threadShow() {
  const k = S.thread;
  $('thread').value = !k ? '' : k.virtual ? 'v' : k.self !== undefined ? 't' + k.self : 'g' + k.group;
}

function threadPicked(value) {
  const n = +value.slice(1);
  act('thread', () => pickThread(!value ? null : value === 'v' ? {virtual: true} : value[0] === 't' ? {self: n} : {group: n}));
}

// ---- findings -----------------------------------------------------------------------------------

function findingsFill() {
  const list = head.findings || [], el = $('findings-list');
  if (!head.overview) return;
  $('findings').hidden = false;
  $('overview').textContent = head.overview;
  $('findings-count').textContent = list.length ? `${list.length} finding${list.length === 1 ? '' : 's'}` : '';
  for (const f of list) {
    const li = document.createElement('li'), kind = document.createElement('b'), text = document.createElement('span');
    kind.textContent = f.kind; text.textContent = text.title = f.text;
    text.onclick = () => { if (!getSelection().toString()) li.classList.toggle('open'); };
    li.append(kind, text);
    if (f.link) {
      const a = document.createElement('a');
      a.href = '#' + f.link; a.textContent = 'show';
      a.onclick = e => { e.preventDefault(); act('finding', () => linkGo(f.link)); };
      li.append(a);
    }
    el.append(li);
  }
  if (list.length) return;
  const li = document.createElement('li');
  li.className = 'dim';
  li.textContent = head.none;
  el.append(li);
}

