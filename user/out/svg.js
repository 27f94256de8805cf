// SPDX-License-Identifier: Apache-2.0
// In the picture that svg.c draws: a click zooms, Ctrl-F searches. Frames come in the order of the
// tree, each with where it begins (data-s) and how wide it is (data-w) of the whole.
(() => {
'use strict';
const svg = document.documentElement, by = id => document.getElementById(id);
const SIDE = +svg.dataset.side, GRAPH = +svg.dataset.graph, LETTER = +svg.dataset.letter;
const frames = [...document.querySelectorAll('g.f')].map(g => ({g, s: +g.dataset.s, w: +g.dataset.w,
  rect: g.querySelector('rect'), text: g.querySelector('text'),
  title: g.querySelector('title').textContent, name: g.querySelector('title').textContent.split('\n')[0]}));

function label(name, width) {
  const room = Math.floor((width - 6) / LETTER), all = [...name];
  if (width < 3 * LETTER) return '';
  return all.length <= room ? name : all.slice(0, Math.max(room - 2, 0)).join('') + '..';
}

function zoom(s, w) {
  for (const f of frames) {
    const left = Math.max((f.s - s) / w, 0), right = Math.min((f.s + f.w - s) / w, 1);
    const width = (right - left) * GRAPH;
    f.g.style.display = width < 0.3 ? 'none' : '';
    if (width < 0.3) continue;
    f.g.classList.toggle('out', f.s < s - 1e-9 || f.s + f.w > s + w + 1e-9);
    f.rect.setAttribute('x', SIDE + left * GRAPH);
    f.rect.setAttribute('width', width);
    f.text.setAttribute('x', SIDE + left * GRAPH + 3);
    f.text.textContent = label(f.name, width);
  }
  by('reset').style.display = w < 1 - 1e-9 ? '' : 'none';
}

// What matches, and below it nothing once more.
function search(words) {
  let share = 0, end = -1, test = () => false;
  if (words) {
    try { const re = new RegExp(words, 'i'); test = name => re.test(name); }
    catch { test = name => name.includes(words); }
  }
  for (const f of frames) {
    const match = test(f.name);
    f.g.classList.toggle('match', match);
    if (match && f.s >= end - 1e-9) { share += f.w; end = f.s + f.w; }
  }
  by('found').textContent = words ? `${words}: ${(100 * share).toFixed(1)}%` : '';
}

const ask = () => { const words = prompt('Frames that match (a regular expression):'); if (words !== null) search(words); };
for (const f of frames) f.g.addEventListener('click', () => zoom(f.s, f.w));
by('reset').addEventListener('click', () => zoom(0, 1));
by('search').addEventListener('click', ask);
addEventListener('keydown', e => {
  if ((e.ctrlKey && e.key === 'f') || e.key === '/' || e.key === 'F3') { e.preventDefault(); ask(); }
  else if (e.key === 'Escape') { search(''); zoom(0, 1); }
});
by('search').style.display = '';
})();
