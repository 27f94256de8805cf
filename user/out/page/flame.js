// SPDX-License-Identifier: Apache-2.0
// The flame graph: rows of frames on a canvas, of which only those are made that can be seen.

const ROW = 19;
const TRUNK = 3; // so many frames with one callee each are folded into one row
const LEAVES = 8; // of those that lead to a leaf the last are shown: they tell what it does

let rects = [], rows = [], gaps = [], laidOut = '';

function fit(canvas, w, h) {
  const r = devicePixelRatio || 1;
  if (canvas.width !== Math.round(w * r) || canvas.height !== Math.round(h * r)) {
    canvas.width = Math.round(w * r); canvas.height = Math.round(h * r);
    canvas.style.width = w + 'px'; canvas.style.height = h + 'px';
  }
  const g = canvas.getContext('2d');
  g.setTransform(r, 0, 0, r, 0, 0);
  return g;
}

// ---- trunks -------------------------------------------------------------------------------------

// Its only callee, where all of its time is; -1 if there is none such.
function onlyKid(n, least) {
  const {kids, many} = T.wide(n, least);
  return kids.length === 1 && !many && !T.self[n] && T.total[kids[0]] === T.total[n] && T.other[kids[0]] === T.other[n] ? kids[0] : -1;
}

// (Callers need none of it: what is hot is on top there.) From n, which is shown, the frames that are folded before the next that is: none, or TRUNK and
// more. Of a trunk that branches its last frame is shown, of one that ends the last few.
function trunkFrom(n, least) {
  if (!S.trunks || S.reverse || !n || S.open.has(n)) return null;
  const run = [];
  const told = k => k < 0 || D.types[T.frame[k]] === CAUSE; // is never folded
  for (let k = onlyKid(n, least); !told(k); k = onlyKid(k, least)) run.push(k);
  const last = run.length ? run[run.length - 1] : n, {kids, many} = T.wide(last, least), keep = kids.length || many ? 1 : LEAVES;
  run.length = Math.max(0, run.length - keep);
  return run.length >= TRUNK ? run : null;
}

// ---- layout -------------------------------------------------------------------------------------

// Which frames are wide enough to be seen: rects, and per row their numbers from left to right.
// What is too narrow shows as one gap behind the others.
function layout(width) {
  rects = []; rows = []; gaps = [];
  const add = r => { (rows[r.d] = rows[r.d] || []).push(rects.length); rects.push(r); };
  const z = S.zoom, all = weight(z), up = [];
  for (let n = z; n > 0; n = T.parent[n]) up.push(T.parent[n]);
  const above = up.length > 4 && S.trunks ? [up[up.length - 1], ...up.slice(0, 3).reverse()] : up.reverse();
  above.forEach((n, d) => add({n, x: 0, w: width, d, above: true}));
  if (!all) return;
  const stack = [[z, 0, above.length]], scale = width / all, least = 1 / scale;
  while (stack.length) {
    const [n, x, d] = stack.pop();
    const w = weight(n) * scale;
    add({n, x, w, d, above: false});
    const run = w > 1 ? trunkFrom(n, least) : null;
    if (run) {
      const end = T.wide(run[run.length - 1], least).kids[0];
      add({n: run[0], x, w, d: d + 1, above: false, run, of: n});
      stack.push([end, x, d + 2]);
      continue;
    }
    layoutKids(n, x, d, scale, least, stack);
  }
}

function layoutKids(n, x, d, scale, least, stack) {
  const {kids, many, rest} = T.wide(n, least), next = [];
  let narrow = rest, more = many, at = x;
  for (const c of inOrder(kids)) { // some may be there from a closer look
    if (weight(c) < least) { narrow += weight(c); more++; continue; }
    next.push([c, at, d + 1]);
    at += weight(c) * scale;
  }
  if (narrow * scale >= 2) gaps.push({x: at, w: narrow * scale, d: d + 1, many: more});
  while (next.length) stack.push(next.pop());
}

// ---- drawing ------------------------------------------------------------------------------------

// How much of a text there is room for. Widths of single characters are remembered, by font: asking
// the canvas for every label is slow.
const charWidths = new Map();
function fits(g, s, w) {
  let n = 0, widths = charWidths.get(g.font);
  if (!widths) charWidths.set(g.font, widths = new Map());
  for (const c of s) {
    let cw = widths.get(c);
    if (cw === undefined) widths.set(c, cw = g.measureText(c).width);
    if ((w -= cw) < 0) return n;
    n += c.length;
  }
  return n;
}

// As much of the name as there is room for: all, class and method, method, its beginning.
function label(g, s, type, w) {
  w -= 7;
  if (fits(g, s, w) === s.length) return s;
  const short = shortName(s, type);
  if (fits(g, short, w) === short.length) return short;
  const last = isNative(type) || type === CAUSE || type === GROUP ? short : short.slice(short.lastIndexOf('.') + 1);
  if (fits(g, last, w) === last.length) return last;
  const n = fits(g, last, w - fits.dots);
  return n > 1 ? last.slice(0, n) + '…' : '';
}

const FONT = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';

// Icicles hang from the top; flames stand on the lower edge.
const yOf = (d, full, view) => S.flip ? Math.max(full, view) - (d + 1) * ROW - 2 : d * ROW + 2;

function draw() {
  if (!T || !inFlame()) return;
  crumbs(); detail(); // first: they may change what height is left
  const box = $('scroll'), width = box.clientWidth, view = box.clientHeight;
  layout(width);
  const depth = gaps.reduce((d, r) => Math.max(d, r.d + 1), rows.length), full = Math.max(depth * ROW + 4, 1);
  $('space').style.height = full + 'px';
  const g = fit($('graph'), width, view), top = box.scrollTop;
  g.clearRect(0, 0, width, view);
  g.font = FONT;
  g.textBaseline = 'middle';
  fits.dots = g.measureText('…').width;
  const look = {text: css('--text'), dim: css('--dim'), bg: css('--bg'), select: css('--select'), match: css('--match'), faint: css('--faint')};
  for (const r of gaps) drawGap(g, r, yOf(r.d, full, view) - top, view, look);
  for (const r of rects) {
    r.y = yOf(r.d, full, view) - top;
    if (r.y + ROW < 0 || r.y > view) continue;
    if (r.run) drawTrunk(g, r, look); else drawFrame(g, r, look);
  }
  const none = !weight(0);
  $('empty').hidden = !none;
  $('empty').textContent = none ? `No ${DIM_LABEL[head.dims[S.dim]]} time here. Another view, thread, state or time may have some.` : '';
}

function drawGap(g, r, y, view, look) {
  const says = `${r.many.toLocaleString('en')} too narrow to show`;
  if (y + ROW < 0 || y > view) return;
  g.fillStyle = look.faint; g.fillRect(r.x, y, r.w - 1, ROW - 1);
  g.fillStyle = look.dim;
  if (r.w > 40 && fits(g, says, r.w - 8) === says.length) g.fillText(says, r.x + 4, y + ROW / 2);
}

function drawFrame(g, r, look) {
  const found = match && r.n && match[T.frame[r.n]], fade = r.above || (match && !found);
  g.fillStyle = found ? look.match : frameColour(r.n, fade);
  g.fillRect(r.x, r.y, Math.max(r.w - (r.w > 3 ? 1 : .2), .4), ROW - 1);
  if (byState() && r.n && r.w > 6 && !fade) drawShares(g, r);
  if (r.w > 24) {
    g.fillStyle = found ? look.bg : fade ? look.dim : look.text;
    g.fillText(label(g, nameOf(r.n), typeOf(r.n), r.w), Math.max(r.x, 0) + 4, r.y + ROW / 2);
  }
  if (r.n === S.select || r.n === S.hover) outline(g, r, look, r.n === S.select ? 2 : 1);
}

// The states that its time was in, along its lower edge, where it is not one alone.
function drawShares(g, r) {
  const us = T.states(r.n), all = T.total[r.n];
  let x = r.x;
  if (us.some(u => u >= .99 * all)) return;
  for (let s = 0; s < us.length; s++) {
    const w = (r.w - 1) * us[s] / all;
    if (w < .3) { x += w; continue; }
    g.fillStyle = stateColour(D.states[s]);
    g.fillRect(x, r.y + ROW - 4, w, 3);
    x += w;
  }
}

function drawTrunk(g, r, look) {
  const found = match && r.run.some(n => match[T.frame[n]]), says = `⋯ ${r.run.length} frames`;
  g.fillStyle = found ? look.match : look.faint;
  g.fillRect(r.x, r.y, Math.max(r.w - (r.w > 3 ? 1 : .2), .4), ROW - 1);
  g.fillStyle = found ? look.bg : look.dim;
  const rest = r.w - 8, all = `${says}: ${shortName(nameOf(r.run[0]), typeOf(r.run[0]))} … ${shortName(nameOf(r.run[r.run.length - 1]), typeOf(r.run[r.run.length - 1]))}`;
  const text = [all, says, '⋯'].find(s => fits(g, s, rest) === s.length);
  if (text) g.fillText(text, r.x + 4, r.y + ROW / 2);
  if (r.run.includes(S.select) || r.run.includes(S.hover)) outline(g, r, look, 1);
}

function outline(g, r, look, w) {
  g.strokeStyle = look.select; g.lineWidth = w;
  g.strokeRect(r.x + 1, r.y + 1, Math.max(r.w - 3, 1), ROW - 3);
}

// ---- around it ----------------------------------------------------------------------------------

function button(text, title, go) {
  const b = document.createElement('button');
  b.textContent = text; b.title = title; b.onclick = go;
  return b;
}

function crumbs() {
  const el = $('crumbs'), path = [];
  el.textContent = '';
  for (let n = S.zoom; n > 0; n = T.parent[n]) path.push(n);
  const b = n => el.append(button(n ? shortName(nameOf(n), typeOf(n)) : nameOf(0), nameOf(n), () => act('zoom', () => zoom(n))));
  b(0);
  if (path.length > 4) el.append(' › …');
  path.slice(0, 4).reverse().forEach(n => { el.append(' › '); b(n); });
  const limits = document.createElement('span');
  limits.id = 'limits';
  if (S.thread) limits.append(button(`${threadSaid()} ✕`, 'All threads again (Esc)', () => pickThread(null)));
  if (S.request) limits.append(button(`${requestSaid()} ✕`, 'All requests again (Esc)', () => requestPick(null)));
  if (S.bands) limits.append(button(`${BANDS_CHOICE.find(c => c[0] === S.bands)[1]} ✕`, 'All times again (Esc)', () => bandsPick('')));
  if (rangeChosen()) {
    const spans = rangeChosen(), x = button(`${fmtUs(spans[0][0])} – ${fmtUs(spans[spans.length - 1][1])}` +
      (spans.length > 1 ? `, ${spans.length} parts` : '') + ' ✕', 'All of the time again (Esc)', rangeClear);
    x.id = 'range';
    limits.append(x);
  }
  el.append(limits);
}

const threadSaid = () => S.thread.virtual ? 'virtual threads' : S.thread.self !== undefined ? threadName(S.thread.self) : D.groups[S.thread.group];

const numbers = n => {
  const z = T.total[0];
  if (S.compare) return requestsCompared(n);
  if (head.diff) return `A ${fmtUs(T.total[n])} ${pct(T.total[n], z)}   B ${fmtUs(T.other[n])} ${pct(T.other[n], T.other[0])}`;
  return `${fmtUs(T.total[n])} · ${pct(T.total[n], z)} of all` +
    (S.zoom ? ` · ${pct(T.total[n], T.total[S.zoom])} of the zoom` : '') + selfSaid(n);
};

// The node's own time, and how much of it is in native frames that are folded away.
function selfSaid(n) {
  if (S.reverse) return '';
  T.kids(n);
  return ` · self ${fmtUs(T.self[n])}` + (T.native[n] > .5 ? `, ${fmtUs(T.native[n])} of it in native code` : '');
}

function detail() {
  const el = $('detail'), n = S.select >= 0 ? S.select : S.hover >= 0 ? S.hover : S.zoom;
  el.textContent = '';
  const b = document.createElement('b'), s = document.createElement('span');
  b.textContent = nameOf(n);
  const type = n ? '  [' + (tierMix(n) || TYPE_LABEL[D.types[T.frame[n]]]) + ']' : '';
  s.textContent = `${type}  ${numbers(n)}` + (byState() && stateMix(n) ? ` · ${stateMix(n)}` : '') + '\n';
  el.append(b, s);
  if (S.select >= 0) {
    const rest = document.createElement('span');
    rest.textContent = stackOf(n).slice(1).map(x => '  ' + x).join('\n');
    el.append(rest);
  }
}

// A box beside the pointer: a bold line, and others.
function tipShow(x, y, title, lines) {
  const el = $('tip'), b = document.createElement('b');
  el.hidden = false;
  el.textContent = '';
  b.textContent = title;
  el.append(b);
  for (const l of lines.filter(Boolean)) { const d = document.createElement('div'); d.textContent = l; el.append(d); }
  const w = el.offsetWidth, h = el.offsetHeight;
  el.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 8)) + 'px';
  el.style.top = Math.max(4, y + h + 26 > innerHeight ? y - h - 10 : y + 18) + 'px';
}

function frameTip(e, r) {
  if (!r) { $('tip').hidden = true; return; }
  const n = r.n;
  if (r.run) {
    const names = r.run.map(nameOf), shown = names.length > 12 ? [...names.slice(0, 5), `⋯ ${names.length - 10} more`, ...names.slice(-5)] : names;
    tipShow(e.clientX, e.clientY, `${r.run.length} frames that call one other each`, [numbers(n), ...shown, 'click unfolds them']);
    return;
  }
  tipShow(e.clientX, e.clientY, nameOf(n), [numbers(n), byState() && stateMix(n), tierMix(n)]);
}

// ---- what the user does -------------------------------------------------------------------------

function zoom(n) {
  S.zoom = n; S.hover = -1;
  draw();
  scrollHome();
  linkWrite();
}

// To where stacks begin.
function scrollHome() {
  const box = $('scroll'), was = box.scrollTop;
  box.scrollTop = S.flip ? box.scrollHeight : 0;
  if (box.scrollTop !== was) draw();
}

function rectAt(x, y) {
  for (const row of rows) {
    const y0 = row && rects[row[0]].y;
    if (!row || !(y >= y0 && y < y0 + ROW)) continue;
    let lo = 0, hi = row.length - 1;
    while (lo < hi) { const m = lo + hi + 1 >> 1; if (rects[row[m]].x <= x) lo = m; else hi = m - 1; }
    const r = rects[row[lo]];
    return x < r.x + r.w ? r : null;
  }
  return null;
}

// Along the tree as drawn: up to the caller, down to the widest callee, sideways to siblings.
function walk(key) {
  let n = S.select >= 0 ? S.select : S.zoom;
  const down = (key === 'ArrowDown') !== S.flip;
  if (key === 'ArrowUp' || key === 'ArrowDown') {
    if (!down) n = n > 0 ? T.parent[n] : 0;
    else n = children(n).reduce((a, c) => weight(c) > (a < 0 ? 0 : weight(a)) ? c : a, -1);
  } else if (n > 0) {
    const kids = children(T.parent[n]).filter(c => weight(c) > 0), i = kids.indexOf(n);
    n = kids[i + (key === 'ArrowRight' ? 1 : -1)] ?? n;
  }
  if (n < 0) return;
  S.select = n;
  draw();
  const r = rects.find(q => q.run ? q.run.includes(n) : q.n === n), box = $('scroll');
  if (!r) zoom(T.parent[n]);
  else if (r.y < 0) box.scrollTop += r.y - ROW;
  else if (r.y + ROW > box.clientHeight) box.scrollTop += r.y + 2 * ROW - box.clientHeight;
  linkWrite();
}

function flameEvents() {
  const g = $('graph'), box = $('scroll');
  g.onmousemove = e => {
    const r = rectAt(e.offsetX, e.offsetY), n = r ? r.n : -1;
    frameTip(e, r);
    if (n !== S.hover) act('hover', () => { S.hover = n; draw(); });
  };
  g.onmouseleave = () => { $('tip').hidden = true; S.hover = -1; draw(); };
  g.onclick = e => {
    const r = rectAt(e.offsetX, e.offsetY);
    box.focus();
    if (!r) return;
    $('tip').hidden = true;
    if (r.run) { act('unfold', () => { for (const n of [r.of, ...r.run]) S.open.add(n); draw(); }); return; }
    S.select = r.n;
    act('zoom', () => zoom(r.n));
  };
  box.addEventListener('scroll', () => requestAnimationFrame(draw));
  new ResizeObserver(draw).observe(box);
}

