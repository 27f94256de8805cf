// SPDX-License-Identifier: Apache-2.0
// Threads over time. Those of one pool share a row, which unfolds into theirs; virtual threads are
// one row, too. What is clicked or dragged here is what the flame graph shows.

const TL_ROW = 16, TL_GROUP = 26, TL_NAME = 200, TL_AXIS = 20;
const TL = {groups: [], rows: [], quiet: null, selves: [], begin: 0, from: 0, to: 1, end: 1, drag: null, open: new Set(), cursor: null, set: '', chosen: ''};

// ---- rows ---------------------------------------------------------------------------------------

const threadName = self => TL.selves[self] ? TL.selves[self].name : D.threads[D.selfOf.indexOf(self)] || '';

function timelineInit() {
  const t = D.times, c = D.cells, cpu = new Float64Array(D.threads.length);
  D.threads.forEach((name, th) => {
    const self = D.selfOf[th], s = TL.selves[self] = TL.selves[self] || {kind: 'thread', self, threads: [], name, cpu: 0, states: new Set()};
    s.threads.push(th);
    s.name = name;
    s.group = D.groupOf[th];
    s.virtual = (D.flags[th] & 1) !== 0;
  });
  if (!t.n) return;
  spansMake();
  // from where to where: what was chosen of the recording, or all of it
  let end = head.to_us || head.duration_us;
  for (let i = 0; i < c.n; i++) {
    if (c.dims[i] & 1) cpu[c.thread[i]] += c.us[i];
    TL.selves[D.selfOf[c.thread[i]]].states.add(c.state[i]);
  }
  for (let i = 0; i < t.n && !head.to_us; i++) end = Math.max(end, t.start[i] + t.span[i]);
  const groups = new Map();
  for (const s of TL.selves) {
    if (!s || !s.threads.some(th => t.from[th + 1] > t.from[th])) continue;
    const key = s.virtual ? 'virtual' : s.group, name = s.virtual ? 'virtual threads' : D.groups[s.group];
    if (!groups.has(key)) groups.set(key, {kind: 'group', key, name, pick: s.virtual ? {virtual: true} : {group: s.group}, members: [], threads: [], cpu: 0});
    const g = groups.get(key);
    for (const th of s.threads) { s.cpu += cpu[th]; g.threads.push(th); }
    g.members.push(s); g.cpu += s.cpu;
  }
  const order = (a, b) => b.cpu - a.cpu || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
  TL.groups = [...groups.values()].sort(order);
  for (const g of TL.groups) g.members.sort(order);
  TL.end = TL.to = Math.max(end, 1);
  TL.begin = TL.from = Math.min(head.from_us, TL.end - 1);
  lanesInit();
  timelineRows();
  $('timeline').hidden = false;
}

// Which rows there are, with what is folded, and where. Threads that were in no state that is shown
// share the last one: they did nothing.
function timelineRows() {
  const own = requestThreads(), one = S.request && S.request.one !== undefined;
  const seen = s => [...s.states].some(k => !S.off.has(k)), quiet = {kind: 'group', key: 'quiet', quiet: true, members: [], threads: [], cpu: 0};
  let y = 0;
  TL.rows = [];
  const add = (row, h) => { row.y = y; row.h = h; y += h; TL.rows.push(row); };
  const open = g => { if (TL.open.has(g.key)) for (const s of g.members) { s.inside = true; add(s, TL_ROW); } };
  for (const all of TL.groups) {
    const g = own ? groupOf(all, own) : all;
    if (!g.members.length) continue;
    if (one) { for (const s of g.members) { s.inside = false; add(s, TL_ROW); } continue; } // of one request each thread is told
    if (!g.members.some(seen)) { quiet.members.push(...g.members); continue; }
    if (g.members.length === 1 && g.key !== 'virtual') { g.members[0].inside = false; add(g.members[0], TL_ROW); continue; }
    add(g, TL_GROUP);
    open(g);
  }
  if (quiet.members.length) {
    quiet.name = S.off.size === 1 && S.off.has(head.idle) ? 'idle throughout' : 'in other states';
    add(quiet, TL_ROW);
    open(quiet);
  }
  TL.height = y;
  TL.rowsOf = rowsKey();
}

const rowsKey = () => [...S.off].sort().join() + '/' + requestKey();

// The pool with those of its threads alone that worked for requests.
function groupOf(g, own) {
  const members = g.members.filter(s => s.threads.some(th => own[th]));
  return {...g, members, threads: members.flatMap(s => s.threads), cpu: members.reduce((sum, s) => sum + s.cpu, 0), rasterThread: null, rasterGroup: null, rasterHits: null};
}

const lanesHeight = () => TL_AXIS + LANES.length * LANE;

// Rasters are made once for a view of the time and the states shown; those of the search anew for
// another one.
function rasterCached(row, from, to, w, make) {
  const key = [from, to, w, rowsKey(), make === rasterGroup ? '' : S.query + S.java].join();
  const kept = row[make.name] = row[make.name] || {};
  if (kept.key !== key) { kept.key = key; kept.raster = make(row, from, to, w); }
  return kept.raster;
}

// ---- drawing ------------------------------------------------------------------------------------

// The least of 1, 2, 5, 10 ... that is no less.
function roundStep(least) {
  const ten = 10 ** Math.floor(Math.log10(least));
  return ten * [1, 2, 5, 10].find(k => ten * k >= least * .999);
}

const tlWidth = () => Math.max(1, Math.floor($('tl-scroll').clientWidth - TL_NAME));

function timelineDraw() {
  if (!D || !D.times.n) return;
  if (TL.rowsOf !== rowsKey()) timelineRows();
  const box = $('tl-scroll'), fixed = lanesHeight(), full = TL.height + fixed + 2;
  // as high as it needs, up to a third of the window and half of what lanes take, but no more than what it leaves to
  // the flame graph, until the user drags its lower edge
  if (!box.style.height || box.style.height === TL.set) {
    const most = Math.min(innerHeight * .32 + (LANES.length - 1) * LANE / 2, (innerHeight - box.getBoundingClientRect().top) / 2);
    box.style.height = TL.set = Math.round(Math.min(full, Math.max(most, fixed + 60))) + 'px';
  }
  $('tl-space').style.height = full + 'px';
  const width = box.clientWidth, view = box.clientHeight, g = fit($('tl'), width, view), top = box.scrollTop, w = tlWidth();
  const look = {text: css('--text'), dim: css('--dim'), bg: css('--bg'), faint: css('--faint'), accent: css('--accent'), match: css('--match'), select: css('--select')};
  g.clearRect(0, 0, width, view);
  g.font = '11px system-ui, "DejaVu Sans", sans-serif'; g.textBaseline = 'middle';
  for (const row of TL.rows) {
    const y = fixed + row.y - top;
    if (y + row.h < fixed || y > view) continue;
    if (row.kind === 'group') groupDraw(g, row, y, w, look); else threadDraw(g, row, y, w, look);
  }
  g.fillStyle = look.bg; g.fillRect(0, 0, width, fixed);
  axisDraw(g, w, width, look);
  lanesDraw(g, TL_NAME, w, TL_AXIS, look);
  bandsDraw(g, TL_NAME, w, TL_AXIS, view);
  marksDraw(g, w, view, look);
}

const samePick = p => !!p && !!S.thread && Object.keys(p).every(k => S.thread[k] === p[k]);

function rowName(g, row, y, look, text) {
  const on = row.kind === 'group' ? samePick(row.pick) : samePick({self: row.self});
  g.fillStyle = on ? look.accent : row.quiet ? look.dim : look.text;
  const room = TL_NAME - (row.inside ? 30 : 18), n = fits(g, text, room);
  g.fillText(n < text.length ? text.slice(0, Math.max(1, n - 1)) + '…' : text, row.inside ? 26 : 14, y + row.h / 2);
}

function threadDraw(g, row, y, w, look) {
  const {state, hit} = rasterCached(row, TL.from, TL.to, w, rasterThread), fills = D.states.map(stateColour);
  g.fillStyle = look.faint; g.fillRect(TL_NAME, y + 1, w, row.h - 2);
  for (let x = 0; x < w;) {
    const s = state[x], m = hit[x];
    let e = x + 1;
    while (e < w && state[e] === s && hit[e] === m) e++;
    if (s) {
      g.globalAlpha = match && !m ? .3 : 1;
      g.fillStyle = fills[s - 1]; g.fillRect(TL_NAME + x, y + 1, e - x, row.h - 2);
      if (m) { g.fillStyle = look.match; g.fillRect(TL_NAME + x, y + row.h - 4, e - x, 3); }
    }
    x = e;
  }
  g.globalAlpha = 1;
  rowName(g, row, y, look, row.name);
}

// How many of the pool were in which state: what runs at the bottom.
function groupDraw(g, row, y, w, look) {
  rowName(g, row, y, look, `${TL.open.has(row.key) ? '▾' : '▸'} ${row.name}${membersSaid(row)}`);
  if (row.quiet) return;
  const counts = rasterCached(row, TL.from, TL.to, w, rasterGroup), hits = rasterCached(row, TL.from, TL.to, w, rasterHits), h = row.h - 3;
  const order = counts.map((v, s) => s).filter(s => counts[s]).sort((a, b) => stateRank(D.states[b]) - stateRank(D.states[a]));
  const sum = new Float32Array(w), scale = groupScale(row, counts, w);
  g.fillStyle = look.faint; g.fillRect(TL_NAME, y + 1, w, h);
  g.globalAlpha = match ? .45 : 1;
  for (const s of order) {
    g.fillStyle = stateColour(D.states[s]);
    for (let x = 0; x < w; x++) {
      const a = Math.min(h - sum[x], h * counts[s][x] / scale);
      if (a > .05) g.fillRect(TL_NAME + x, y + 1 + h - sum[x] - a, 1, a);
      sum[x] += a;
    }
  }
  g.globalAlpha = 1;
  g.fillStyle = look.match;
  for (let x = 0; x < w && hits; x++) if (hits[x] > 0) { const a = Math.max(2, h * Math.min(1, hits[x] / scale)); g.fillRect(TL_NAME + x, y + 1 + h - a, 1, a); }
}

// Virtual threads without a name are one, however many they are.
const membersSaid = row => row.members.length > 1 || row.key !== 'virtual' ? ` (${row.members.length.toLocaleString('en')})` : '';

// As many as the row is high: all of the pool, or of virtual threads as many as there were at once.
function groupScale(row, counts, w) {
  if (row.key !== 'virtual') return row.members.length;
  let most = 1;
  for (let x = 0; x < w; x++) { let n = 0; for (const v of counts) if (v) n += v[x]; most = Math.max(most, n); }
  return most;
}

function axisDraw(g, w, width, look) {
  const scale = w / (TL.to - TL.from), step = roundStep((TL.to - TL.from) / Math.max(2, w / 120));
  g.fillStyle = look.dim;
  for (let us = Math.ceil(TL.from / step) * step; us <= TL.to; us += step) {
    const x = TL_NAME + (us - TL.from) * scale;
    g.fillRect(x, TL_AXIS - 4, 1, 4);
    if (x + 40 < width) g.fillText(us ? fmtUs(us).replace(/\.0+ |(\.\d*[1-9])0+ /, '$1 ') : '0', x + 2, TL_AXIS / 2 - 2);
  }
}

function marksDraw(g, w, view, look) {
  const scale = w / (TL.to - TL.from), x = us => TL_NAME + Math.max(0, Math.min(w, (us - TL.from) * scale));
  const spans = TL.drag ? [[Math.min(...TL.drag), Math.max(...TL.drag)]] : rangeChosen() || [];
  g.strokeStyle = look.select; g.lineWidth = 1.5;
  if (spans.length === 1) {
    const [a, b] = spans[0];
    g.fillStyle = look.bg; g.globalAlpha = .5;
    g.fillRect(TL_NAME, TL_AXIS, x(a) - TL_NAME, view); g.fillRect(x(b), TL_AXIS, TL_NAME + w - x(b), view);
    g.globalAlpha = 1;
    g.strokeRect(x(a), 1, Math.max(2, x(b) - x(a)), view - 2);
  }
  const k = TL.cursor;
  if (!k || !TL.rows.includes(k.row)) return;
  const y = lanesHeight() + k.row.y - $('tl-scroll').scrollTop;
  if (y < lanesHeight() - k.row.h || y > view) return;
  g.strokeRect(x(k.from), y + .5, Math.max(3, x(k.to) - x(k.from)), k.row.h - 1);
  if (k.i !== undefined) arrowsDraw(g, k, x, view, look);
}

// ---- what is under the pointer ------------------------------------------------------------------

const usAt = x => TL.from + Math.max(0, Math.min(1, (x - TL_NAME) / tlWidth())) * (TL.to - TL.from);

function rowAt(y) {
  const at = y - lanesHeight() + $('tl-scroll').scrollTop;
  return y < lanesHeight() ? null : TL.rows.find(r => at >= r.y && at < r.y + r.h) || null;
}

function segmentAt(row, us) {
  const i = sampleAt(row, us);
  return i < 0 ? null : segmentOf(row, i);
}

// The same for a few pixels' worth of time around: where samples are far apart, or short.
function segmentNear(row, us) {
  const px = (TL.to - TL.from) / tlWidth();
  for (const d of [0, 1, -1, 2, -2]) { const s = segmentAt(row, us + d * px); if (s) return s; }
  return null;
}

function segmentLines(seg) {
  const cell = D.times.cell[seg.i], stack = cellStack(cell), shown = stack.slice(0, 12).map(f => shortName(D.names[f], D.types[f]));
  return [`${D.states[seg.state]} for ${fmtUs(seg.to - seg.from)}, ${fmtUs(Math.max(0, seg.from))} – ${fmtUs(seg.to)}`,
    `${seg.ticks.toLocaleString('en')} sample${seg.ticks === 1 ? '' : 's'}` + (seg.stacks > 1 ? ` in ${seg.stacks.toLocaleString('en')} stacks; this one:` : ':'),
    ...shown.map(s => '  ' + s), stack.length > 12 ? `  ⋯ ${stack.length - 12} more` : '', ...causeLines(cell)];
}

function groupLines(row, x) {
  const counts = rasterCached(row, TL.from, TL.to, tlWidth(), rasterGroup);
  return D.states.map((name, s) => [name, counts[s] ? counts[s][x] : 0]).filter(v => v[1] > .005)
    .sort((a, b) => b[1] - a[1]).map(([name, n]) => `${laneSaid(n)} ${name}`);
}

function timelineTip(e) {
  const {offsetX: x, offsetY: y, clientX, clientY} = e, row = rowAt(y), us = usAt(x);
  TL.cursor = null;
  if (x < TL_NAME) {
    if (row) tipShow(clientX, clientY, row.name, [row.kind === 'group' ? `${row.members.length} threads; a click unfolds them, a click beside it chooses them` : 'a click chooses the thread', `CPU ${fmtUs(row.cpu)}`]);
    else $('tip').hidden = true;
    return;
  }
  if (!row) { if (y > TL_AXIS) tipShow(clientX, clientY, fmtUs(us), lanesSay(us, Math.floor(x - TL_NAME), tlWidth())); else $('tip').hidden = true; return; }
  if (row.quiet) { $('tip').hidden = true; return; }
  if (row.kind === 'group') { tipShow(clientX, clientY, `${row.name} at ${fmtUs(us)}`, groupLines(row, Math.floor(x - TL_NAME))); return; }
  const seg = segmentNear(row, us);
  if (!seg) { tipShow(clientX, clientY, row.name, [`nothing at ${fmtUs(us)}`]); return; }
  TL.cursor = seg;
  seg.at = us;
  tipShow(clientX, clientY, row.name, segmentLines(seg));
}

// ---- what the user does -------------------------------------------------------------------------

function pickThread(which) { S.thread = which; threadShow(); reweigh(); }

const pickToggle = which => pickThread(samePick(which) ? null : which);

function rangeClear() { S.range = S.spans = null; act('range', reweigh); }

// The flame graph of one segment: its thread, its time.
function segmentPick(seg) {
  S.thread = {self: seg.row.self};
  S.range = [Math.max(0, seg.from), seg.to];
  S.spans = null;
  if (S.dim === 0 && stateRank(D.states[seg.state]) !== 4) S.dim = 1; // it has no CPU time
  threadShow(); controls(); reweigh();
}

function groupToggle(row) {
  if (!TL.open.delete(row.key)) TL.open.add(row.key);
  timelineRows();
  timelineDraw();
}

function timelineClick(e) {
  const row = rowAt(e.offsetY);
  if (e.offsetX < TL_NAME) {
    if (!row) return;
    if (row.kind === 'group') act('unfold group', () => groupToggle(row));
    else act('thread', () => pickToggle({self: row.self}));
    return;
  }
  const seg = row && row.kind === 'thread' ? segmentNear(row, usAt(e.offsetX)) : null;
  if (seg) act('segment', () => segmentPick(seg));
  else if (row && row.pick) act('pool', () => pickToggle(row.pick));
  else if (rangeChosen()) rangeClear();
}

function timelineWheel(e) {
  if (!e.ctrlKey && !e.shiftKey) return;
  e.preventDefault();
  timelineSpread(usAt(e.offsetX), (e.deltaY || e.deltaX) > 0 ? 1.25 : .8);
}

// Shows more or less time around one instant.
function timelineSpread(at, k) {
  const least = (TL.end - TL.begin) / 1e5, from = Math.max(TL.begin, at - (at - TL.from) * k), to = Math.min(TL.end, at + (TL.to - at) * k);
  if (to - from < least) return;
  TL.from = from; TL.to = to;
  act('spread', timelineDraw);
}

function timelineMove(share) {
  const d = Math.max(TL.begin - TL.from, Math.min(TL.end - TL.to, share * (TL.to - TL.from)));
  TL.from += d; TL.to += d;
  act('spread', timelineDraw);
}

function timelineEvents() {
  const tl = $('tl'), box = $('tl-scroll');
  tl.onpointerdown = e => {
    if (e.button || e.offsetX < TL_NAME) return;
    tl.setPointerCapture(e.pointerId);
    TL.drag = [usAt(e.offsetX), usAt(e.offsetX)];
  };
  tl.onpointermove = e => {
    if (TL.drag) { TL.drag[1] = usAt(e.offsetX); $('tip').hidden = true; timelineDraw(); return; }
    act('hover segment', () => { timelineTip(e); timelineDraw(); });
  };
  tl.onpointerleave = () => { $('tip').hidden = true; TL.cursor = null; timelineDraw(); };
  tl.onpointerup = e => {
    const drag = TL.drag;
    TL.drag = null;
    if (e.button) return;
    $('tip').hidden = true;
    if (!drag) { timelineClick(e); return; }
    const [a, b] = drag.sort((x, y) => x - y);
    if (b - a <= (TL.to - TL.from) / 400) { timelineClick(e); return; }
    S.range = [a, b]; S.spans = null;
    act('range', reweigh);
  };
  tl.ondblclick = e => {
    if (e.offsetX < TL_NAME) {
      const row = rowAt(e.offsetY);
      if (row && row.pick) pickThread(row.pick);
      return;
    }
    TL.from = TL.begin; TL.to = TL.end;
    rangeClear();
  };
  tl.addEventListener('wheel', timelineWheel, {passive: false});
  box.addEventListener('scroll', () => requestAnimationFrame(timelineDraw));
  box.addEventListener('keydown', timelineKey);
  new ResizeObserver(timelineDraw).observe(box);
}

// ---- keys ---------------------------------------------------------------------------------------

function rowShow(row) {
  const box = $('tl-scroll'), room = box.clientHeight - lanesHeight();
  if (row.y < box.scrollTop) box.scrollTop = row.y;
  else if (row.y + row.h > box.scrollTop + room) box.scrollTop = row.y + row.h - room;
}

// The cursor in a row: on a pool's whole row, or on a segment of a thread's.
function cursorTo(row, us) {
  const seg = row.kind === 'thread' ? segmentAt(row, us) || segmentNear(row, us) : null;
  TL.cursor = seg || {row, from: TL.from, to: TL.to, at: us};
  TL.cursor.at = us;
  rowShow(row);
  timelineDraw();
  const r = $('tl').getBoundingClientRect(), x = r.left + TL_NAME + (us - TL.from) / (TL.to - TL.from) * tlWidth();
  const y = r.top + lanesHeight() + row.y - $('tl-scroll').scrollTop;
  tipShow(Math.max(r.left + TL_NAME, Math.min(r.right - 40, x)), y, row.name, seg ? segmentLines(seg) : row.kind === 'group' ? [`${row.members.length} threads; Enter unfolds them`] : [`nothing at ${fmtUs(us)}`]);
}

// The next segment of the row behind, or before, the cursor's.
function cursorStep(way) {
  const k = TL.cursor, list = rowSamples(k.row), off = i => S.off.has(D.cells.state[D.times.cell[i]]);
  const ok = i => !off(i) && (way > 0 ? sampleFrom(i) >= k.to - 1 : sampleTo(i) <= k.from + 1);
  const i = way > 0 ? list.find(ok) : list.findLast(ok);
  if (i === undefined || k.row.kind !== 'thread') return;
  const us = (sampleFrom(i) + sampleTo(i)) / 2;
  TL.cursor = segmentOf(k.row, i);
  if (us < TL.from || us > TL.to) timelineMove((us - (TL.from + TL.to) / 2) / (TL.to - TL.from));
  cursorTo(k.row, us);
}

function timelineKey(e) {
  const k = TL.cursor, at = k ? TL.rows.indexOf(k.row) : -1, us = k && k.at !== undefined ? k.at : (TL.from + TL.to) / 2;
  const on = {
    ArrowDown: () => cursorTo(TL.rows[Math.min(TL.rows.length - 1, at + 1)], us),
    ArrowUp: () => cursorTo(TL.rows[Math.max(0, at - 1)], us),
    ArrowRight: () => k && cursorStep(1), ArrowLeft: () => k && cursorStep(-1),
    Enter: () => { if (!k) return; if (k.row.kind === 'group') groupToggle(k.row); else if (k.i !== undefined) act('segment', () => segmentPick(k)); },
    o: () => k && k.i !== undefined && ownerShow(k),
    '+': () => timelineSpread(us, .5), '-': () => timelineSpread(us, 2),
    ',': () => timelineMove(-.5), '.': () => timelineMove(.5),
  }[e.key];
  if (!on || e.ctrlKey || e.metaKey || e.altKey) return;
  e.preventDefault();
  e.stopPropagation();
  on();
}

