// SPDX-License-Identifier: Apache-2.0
// Lanes are graphs above the threads, on their time axis; bands are spans of time that go through
// all lanes and threads, such as a pause of the whole JVM. To add one, put it into head.lanes or
// head.bands (html.c), or push it onto LANES or BANDS before the timeline is drawn.
//
//   lane  {name, unit,             what stands at its left, and behind a value
//          max,                    the upper edge; without it the largest value
//          lines: [{name,          "used"; or none where there is but one
//            kind: 'area' | 'line' a value between two points is on the way from one to the other
//                | 'step'          it stays until the next
//                | 'period',       it is of all the time since the point before
//            points: [[us, value], ...]}, ...]}             in order of time
//   lane  {name, unit, stack: (from, to, w) => [{name, colour, values: by pixel}, ...]}
//          one above the other, asked for what is seen
//   band  {name, from_us, to_us, text}    "GC", and what its tooltip says; in order of from_us
//
// The flame graph can be narrowed to what is within bands, or outside them: S.bands.

const LANE = 24;
const LANES = [], BANDS = [];

function lanesInit() {
  LANES.push(cpuLane(), ...head.lanes || []);
  BANDS.push(...head.bands || []);
  for (const lane of LANES)
    if (lane.lines && !lane.max) lane.max = lane.lines.reduce((m, l) => l.points.reduce((k, p) => Math.max(k, p[1]), m), 0) || 1;
}

// How many threads had a CPU, and how many waited for one.
function cpuLane() {
  const all = {everything: true, threads: D.threads.map((_, t) => t)};
  const states = D.states.map((name, s) => [name, s]).filter(([name]) => stateRank(name) >= 4);
  return {name: 'CPU', unit: 'threads', stack(from, to, w) {
    const counts = rasterCached(all, from, to, w, rasterGroup);
    return states.filter(([, s]) => counts[s]).map(([name, s]) => ({name, colour: stateColour(name), values: counts[s]}));
  }};
}

// How many of a line's points are not later than a time.
function pointsUntil(p, us) {
  let lo = 0, hi = p.length;
  while (lo < hi) { const m = lo + hi >>> 1; if (p[m][0] <= us) lo = m + 1; else hi = m; }
  return lo;
}

// From when on a line's first point is known: the first period is taken to be as long as the next.
const lineFrom = ({kind, points: p}) => p.length ? kind === 'period' && p.length > 1 ? 2 * p[0][0] - p[1][0] : p[0][0] : Infinity;

// The value of a line at a time; null where it has none.
function lineValue(line, us) {
  const p = line.points, k = pointsUntil(p, us);
  if (us < lineFrom(line)) return null;
  if (line.kind === 'step') return p[k - 1][1];
  if (k && p[k - 1][0] === us) return p[k - 1][1];
  if (k === p.length) return null;
  if (line.kind === 'period') return p[k][1];
  const [a, b] = [p[k - 1], p[k]];
  return a[1] + (b[1] - a[1]) * (us - a[0]) / (b[0] - a[0] || 1);
}

function lanesDraw(g, x0, w, y, look) {
  LANES.forEach((lane, k) => {
    const top = y + k * LANE + 1, h = LANE - 3;
    g.fillStyle = look.faint; g.fillRect(x0, top, w, h);
    const max = lane.stack ? stackDraw(g, lane, x0, w, top, h) : linesDraw(g, lane, x0, w, top, h, look);
    g.fillStyle = look.text; g.fillText(lane.name, 14, top + h / 2);
    g.fillStyle = look.dim; g.textAlign = 'right';
    g.fillText(`max ${laneSaid(max)} ${lane.unit}`, x0 - 6, top + h / 2);
    g.textAlign = 'left';
  });
}

const laneSaid = v => v >= 100 ? Math.round(v).toLocaleString('en') : String(+v.toPrecision(2));

function stackDraw(g, lane, x0, w, top, h) {
  const parts = lane.stack(TL.from, TL.to, w), sum = new Float32Array(w);
  let max = 0;
  for (const {values} of parts) for (let x = 0; x < w; x++) sum[x] += values[x];
  for (let x = 0; x < w; x++) max = Math.max(max, sum[x]);
  sum.fill(0);
  for (const {values, colour} of parts) {
    g.fillStyle = colour;
    for (let x = 0; x < w; x++) {
      const a = h * values[x] / (max || 1);
      if (a > .1) g.fillRect(x0 + x, top + h - sum[x] - a, 1, a);
      sum[x] += a;
    }
  }
  return max;
}

// The first line in the page's colour, what comes with it in a quieter one.
function linesDraw(g, lane, x0, w, top, h, look) {
  g.save();
  g.beginPath(); g.rect(x0, top, w, h); g.clip();
  [...lane.lines].reverse().forEach((line, k) => {
    g.strokeStyle = g.fillStyle = k === lane.lines.length - 1 ? look.accent : look.dim;
    g.lineWidth = 1.2;
    lineDraw(g, line, x0, w, top, h, lane.max);
  });
  g.restore();
  return lane.max;
}

// Every point of what is seen, so that none that is high is missed; and one on either side.
function lineDraw(g, line, x0, w, top, h, max) {
  const p = line.points, scale = w / (TL.to - TL.from);
  const x = us => x0 + Math.max(-9, Math.min(w + 9, (us - TL.from) * scale)), y = v => top + h - .6 - Math.min(1, v / max) * (h - 1.5);
  const first = Math.max(0, pointsUntil(p, TL.from) - 1), end = Math.min(p.length, pointsUntil(p, TL.to) + 1);
  if (first >= end) return;
  const begun = line.kind === 'period' && !first ? x(lineFrom(line)) : x(p[first][0]);
  let last = begun;
  g.beginPath();
  g.moveTo(begun, y(p[first][1]));
  for (let i = first; i < end; i++) {
    if (line.kind === 'period') g.lineTo(last, y(p[i][1]));
    if (line.kind === 'step' && i > first) g.lineTo(x(p[i][0]), y(p[i - 1][1]));
    g.lineTo(last = x(p[i][0]), y(p[i][1]));
  }
  if (line.kind === 'step' && end === p.length) g.lineTo(last = x0 + w, y(p[end - 1][1]));
  if (line.kind === 'area') { g.lineTo(last, top + h); g.lineTo(begun, top + h); g.globalAlpha = .5; g.fill(); g.globalAlpha = 1; }
  else g.stroke();
}

// Where many share a pixel it is drawn once.
function bandsDraw(g, x0, w, y, h) {
  const scale = w / (TL.to - TL.from);
  let done = 0;
  g.globalAlpha = .28; g.fillStyle = css('--band');
  for (const b of BANDS) {
    if (b.to_us < TL.from || b.from_us > TL.to) continue;
    const a = Math.max(done, (b.from_us - TL.from) * scale), e = Math.min(w, Math.max((b.to_us - TL.from) * scale, (b.from_us - TL.from) * scale + 1));
    if (e <= a) continue;
    g.fillRect(x0 + a, y, e - a, h);
    done = e;
  }
  g.globalAlpha = 1;
}

const BANDS_SAID = 4;

// ---- narrowed to bands --------------------------------------------------------------------------

// The time of all bands, where they lie on each other once: spans in order and apart.
function bandsJoined() {
  if (BANDS.joined) return BANDS.joined;
  const out = [];
  for (const {from_us: a, to_us: b} of BANDS) {
    const last = out[out.length - 1];
    if (last && a <= last[1]) last[1] = Math.max(last[1], b); else out.push([a, b]);
  }
  return BANDS.joined = out;
}

// What of spans, in order and apart, lies in bands; or outside of them.
function bandsWithin(spans, outside) {
  const bands = bandsJoined(), out = [];
  let k = 0;
  for (const [from, to] of spans) {
    let at = from; // up to here it is decided
    while (k < bands.length && bands[k][1] < from) k++;
    for (let i = k; i < bands.length && bands[i][0] <= to; i++) {
      const a = Math.max(from, bands[i][0]), b = Math.min(to, bands[i][1]);
      if (!outside) out.push([a, b]); else if (a > at) out.push([at, a]);
      at = b;
    }
    if (outside && to > at) out.push([at, to]);
  }
  return out;
}

function bandsPick(which) { S.bands = which; controls(); act('bands', reweigh); }

const BANDS_CHOICE = [['', 'all times'], ['in', 'during GC'], ['out', 'outside GC']];

const bandsNext = () => BANDS.length && bandsPick(BANDS_CHOICE[(BANDS_CHOICE.findIndex(c => c[0] === S.bands) + 1) % 3][0]);

function bandsControl() {
  const us = bandsJoined().reduce((sum, [a, b]) => sum + b - a, 0), missing = head.bands_missing, el = $('bands');
  const title = `collections stopped the JVM for ${fmtUs(us)} (g)` + (missing ? `; of ${missing.toLocaleString('en')} more it is not known when, or they were too many` : '');
  el.textContent = '';
  if (BANDS.length) for (const [which, text] of BANDS_CHOICE.slice(1)) el.append(chip(text, '', S.bands === which, () => bandsPick(S.bands === which ? '' : which), title));
}

// What lanes and bands say of a time, a line each.
function lanesSay(us, x, w) {
  const values = lane => lane.stack ? lane.stack(TL.from, TL.to, w).map(p => `${laneSaid(p.values[x] || 0)} ${p.name}`)
    : lane.lines.map(l => [lineValue(l, us), l.name]).filter(([v]) => v !== null).map(([v, name]) => `${laneSaid(v)} ${lane.unit} ${name}`.trim());
  const lines = LANES.map(lane => [lane, values(lane)]).filter(([lane, v]) => v.length || lane.stack).map(([lane, v]) => `${lane.name}: ${v.join(', ') || 'none'}`);
  const px = (TL.to - TL.from) / w, near = BANDS.filter(b => b.from_us - px <= us && us <= b.to_us + px);
  for (const b of near.slice(0, BANDS_SAID)) lines.push(`${b.name}: ${fmtUs(b.to_us - b.from_us)}${b.text ? ', ' + b.text : ''}`);
  if (near.length > BANDS_SAID) lines.push(`and ${near.length - BANDS_SAID} more here`);
  return lines;
}
