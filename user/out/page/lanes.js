// SPDX-License-Identifier: Apache-2.0
// Lanes are graphs above the threads, on their time axis; bands are spans of time that go through
// all lanes and threads, such as a pause of the whole JVM. To add one, put it into head.lanes or
// head.bands (html.c), or push it onto LANES or BANDS before the timeline is drawn.
//
//   lane  {name, unit,             what stands at its left, and behind a value
//          kind: 'line' | 'step' | 'area',
//          max,                    the upper edge; without it the largest value
//          points: [[us, value], ...]}                           in order of time
//   lane  {name, unit, stack: (from, to, w) => [{name, colour, values: by pixel}, ...]}
//          one above the other, asked for what is seen
//   band  {name, from_us, to_us, text}    "GC", and what its tooltip says; in order of from_us
//
// The flame graph can be narrowed to bands: S.spans takes several spans of time.

const LANE = 34;
const LANES = [], BANDS = [];

function lanesInit() {
  LANES.push(cpuLane(), ...head.lanes || []);
  BANDS.push(...head.bands || []);
  for (const l of LANES) if (l.points && !l.max) l.max = l.points.reduce((m, p) => Math.max(m, p[1]), 0) || 1;
}

// How many threads had a CPU, and how many waited for one.
function cpuLane() {
  const all = {threads: D.threads.map((_, t) => t)};
  const states = D.states.map((name, s) => [name, s]).filter(([name]) => stateRank(name) >= 4);
  return {name: 'CPU', unit: 'threads', stack(from, to, w) {
    const counts = rasterCached(all, from, to, w, rasterGroup);
    return states.filter(([, s]) => counts[s]).map(([name, s]) => ({name, colour: stateColour(name), values: counts[s]}));
  }};
}

// The value of a lane of points at a time; null before its first.
function laneValue(lane, us) {
  const p = lane.points;
  let lo = 0, hi = p.length;
  while (lo < hi) { const m = lo + hi >>> 1; if (p[m][0] <= us) lo = m + 1; else hi = m; }
  if (!lo) return null;
  if (lane.kind === 'step' || lo === p.length) return p[lo - 1][1];
  const [a, b] = [p[lo - 1], p[lo]];
  return a[1] + (b[1] - a[1]) * (us - a[0]) / (b[0] - a[0] || 1);
}

function lanesDraw(g, x0, w, y, look) {
  LANES.forEach((lane, k) => {
    const top = y + k * LANE + 2, h = LANE - 4;
    g.fillStyle = look.faint; g.fillRect(x0, top, w, h);
    const max = lane.stack ? stackDraw(g, lane, x0, w, top, h) : pointsDraw(g, lane, x0, w, top, h, look);
    g.fillStyle = look.text; g.fillText(lane.name, 14, top + h / 2 - 6);
    g.fillStyle = look.dim; g.fillText(`max ${laneSaid(max)} ${lane.unit}`, 14, top + h / 2 + 7);
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

function pointsDraw(g, lane, x0, w, top, h, look) {
  g.beginPath();
  g.strokeStyle = g.fillStyle = look.accent; g.lineWidth = 1.2;
  let begun = false, last = 0;
  for (let x = 0; x < w; x++) {
    const v = laneValue(lane, TL.from + (TL.to - TL.from) * x / w);
    if (v === null) continue;
    const y = top + h - Math.min(1, v / lane.max) * (h - 1);
    if (begun) g.lineTo(x0 + x, y); else { g.moveTo(x0 + x, y); begun = x0 + x; }
    last = x0 + x;
  }
  if (lane.kind === 'area' && begun) { g.lineTo(last, top + h); g.lineTo(begun, top + h); g.globalAlpha = .5; g.fill(); g.globalAlpha = 1; }
  else g.stroke();
  return lane.max;
}

function bandsDraw(g, x0, w, y, h) {
  const scale = w / (TL.to - TL.from);
  g.globalAlpha = .28; g.fillStyle = css('--band');
  for (const b of BANDS) {
    if (b.to_us < TL.from || b.from_us > TL.to) continue;
    const a = Math.max(0, (b.from_us - TL.from) * scale), e = Math.min(w, (b.to_us - TL.from) * scale);
    g.fillRect(x0 + a, y, Math.max(e - a, 1), h);
  }
  g.globalAlpha = 1;
}

// What lanes and bands say of a time, a line each.
function lanesSay(us, x, w) {
  const lines = LANES.map(l => l.stack
    ? `${l.name}: ${l.stack(TL.from, TL.to, w).map(p => `${laneSaid(p.values[x] || 0)} ${p.name}`).join(', ') || 'none'}`
    : laneValue(l, us) === null ? '' : `${l.name}: ${laneSaid(laneValue(l, us))} ${l.unit}`);
  for (const b of BANDS) if (b.from_us <= us && us <= b.to_us) lines.push(`${b.name}: ${b.text || fmtUs(b.to_us - b.from_us)}`);
  return lines;
}

