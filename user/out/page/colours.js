// SPDX-License-Identifier: Apache-2.0
// Colours: of frames by what ran them, where time is the CPU's; by state, where it is not.

const TYPE_LABEL = ['interpreted', 'JIT (C2)', 'inlined', 'native', 'C++', 'kernel', 'C1', 'Java', 'group', 'waited for'];
const TYPE_HSL = [[52, 60], [146, 40], [181, 42], [8, 62], [30, 72], [268, 40], [92, 42], [146, 40], [215, 14], [330, 48]];
const STATE_HUE = {RUNNING: [146, 48], RUNNABLE: [120, 38], QUEUED: [0, 72], SLEEPING: [188, 30],
  PARKED: [222, 48], WAITING: [203, 55], BLOCKED: [26, 88], IO: [280, 45], IDLE: [215, 8, 14],
  IN_NATIVE: [46, 65], STOPPED: [330, 50]};

const dark = () => document.documentElement.dataset.theme === 'dark';
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colours = new Map();

function typeColour(type, name, dim) {
  let h = 0;
  for (let i = 0; i < name.length && i < 48; i++) h = Math.imul(h, 31) + name.charCodeAt(i) | 0;
  const vary = (h >>> 4) % 5, key = type * 32 + vary * 4 + (dim ? 2 : 0) + (dark() ? 1 : 0);
  if (!colours.has(key)) {
    const [hue, sat] = TYPE_HSL[type], l = (dark() ? 33 : 72) + vary * (dark() ? 2.2 : 2.4);
    colours.set(key, `hsl(${hue + vary * 2 - 4} ${dim ? sat * .3 : sat}% ${dim ? (dark() ? 24 : 88) : l}%)`);
  }
  return colours.get(key);
}

// Red grew, blue shrank, in the share of its own recording.
function diffColour(n) {
  const a = T.total[0] ? T.total[n] / T.total[0] : 0, b = T.other[0] ? T.other[n] / T.other[0] : 0;
  const d = a + b ? (b - a) / Math.max(a, b) : 0, k = Math.min(1, Math.abs(d));
  return `hsl(${d > 0 ? 8 : 212} ${Math.round(75 * k)}% ${Math.round((dark() ? 38 : 84) - (dark() ? -4 : 22) * k)}%)`;
}

function stateHue(name) {
  const k = Object.keys(STATE_HUE).find(s => name.startsWith(s)) ||
    (name.includes('PARK') ? 'PARKED' : name.includes('WAIT') ? 'WAITING' : name.includes('BLOCK') ? 'BLOCKED' : 'SLEEPING');
  return STATE_HUE[k];
}

// On the timeline and in chips.
function stateColour(name) {
  const [h, s, pale = 0] = stateHue(name);
  return `hsl(${h} ${s}% ${dark() ? 48 - pale : 58 + pale}%)`;
}

// Behind the name of a frame: as pale, or dark, as text needs it.
function stateFill(name, dim) {
  const [h, s] = stateHue(name);
  return `hsl(${h} ${dim ? s * .3 : s * .85}% ${dim ? (dark() ? 24 : 88) : dark() ? 34 : 76}%)`;
}

// Frames show their state where most time is none of a CPU.
const byState = () => !compared() && S.dim !== 0;

// The state that a node was in longest.
function mainState(n) {
  const us = T.states(n);
  let best = 0;
  for (let s = 1; s < us.length; s++) if (us[s] > us[best]) best = s;
  return best;
}

function frameColour(n, dim) {
  if (!n) return typeColour(GROUP, '', dim);
  if (compared()) return diffColour(n);
  if (byState()) return stateFill(D.states[mainState(n)], dim);
  return typeColour(typeOf(n), nameOf(n), dim);
}

