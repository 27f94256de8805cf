// SPDX-License-Identifier: Apache-2.0
// Keys, and the page's beginning.

function copy(text) {
  const done = () => { $('found').textContent = 'copied'; setTimeout(search, 900); };
  if (navigator.clipboard && isSecureContext) { navigator.clipboard.writeText(text).then(done, () => 0); return; }
  const a = document.createElement('textarea'); // pages opened as files have no clipboard object
  a.value = text; document.body.append(a); a.select();
  document.execCommand('copy'); a.remove(); done();
}

// One step back from what was chosen last.
function back() {
  $('tip').hidden = true;
  if (S.query) { $('search').value = S.query = ''; act('search', search); }
  else if (S.select >= 0) { S.select = -1; draw(); }
  else if (S.zoom) act('zoom', () => zoom(0));
  else if (rangeChosen()) rangeClear();
  else if (S.request) requestPick(null);
  else if (S.bands) bandsPick('');
  else if (S.thread) act('thread', () => pickThread(null));
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  controls(); act('theme', drawAll);
}

const KEYS = {
  '/': () => $('search').focus(), Escape: back, '?': () => $('keys').showModal(),
  1: () => setDim(0), 2: () => setDim(1), 3: () => setDim(2),
  g: bandsNext,
  m: () => tabToggle('methods'), w: () => tabToggle('causes'), e: () => tabToggle('requests'),
  i: () => setOrient(!S.flip, false), r: () => setOrient(false, !S.reverse),
  j: () => hasBoth() && setJava(!S.java), t: () => setTrunks(!S.trunks),
  x: () => head.idle >= 0 && toggleState(head.idle),
  d: () => theme(dark() ? 'light' : 'dark'),
  Enter: () => S.select >= 0 && act('zoom', () => zoom(S.select)),
  c: () => S.select >= 0 && copy(nameOf(S.select)),
  C: () => S.select >= 0 && copy(stackOf(S.select).join('\n')),
  y: () => copy(location.href),
  ArrowUp: walk, ArrowDown: walk, ArrowLeft: walk, ArrowRight: walk,
};

function keydown(e) {
  if (e.target.id === 'search') {
    if (e.key === 'Escape') { back(); e.target.blur(); } else if (e.key === 'Enter') $('scroll').focus();
    return;
  }
  const go = KEYS[e.key];
  if (!go || e.target.tagName === 'SELECT' || e.ctrlKey || e.metaKey || e.altKey || $('keys').open) return;
  if (e.key === 'Enter' && e.target.matches('button, a, summary')) return;
  if (e.key.startsWith('Arrow') && !inFlame()) return;
  e.preventDefault();
  go(e.key);
}

function searchEvents() {
  let wait;
  $('search').oninput = e => {
    clearTimeout(wait);
    wait = setTimeout(() => { S.query = e.target.value.slice(0, 1000); act('search', search); }, 80);
  };
}

function events() {
  flameEvents(); methodsEvents(); requestsEvents(); searchEvents();
  addEventListener('keydown', keydown);
  addEventListener('resize', () => { timelineDraw(); draw(); });
  addEventListener('hashchange', () => { const h = location.hash.slice(1); if (h !== written) act('link', () => linkGo(h)); });
  $('split').onchange = e => { S.split = e.target.value; S.reverse = false; controls(); act('split', () => remake()); };
  $('thread').onchange = e => threadPicked(e.target.value);
  $('theme').onclick = () => theme(dark() ? 'light' : 'dark');
  $('help').onclick = () => $('keys').showModal();
}

function fail(text) { $('empty').hidden = false; $('empty').textContent = text; }

async function main() {
  document.documentElement.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  document.title = head.title + ' · gnomon';
  $('title').textContent = head.title;
  $('meta').textContent = head.note;
  if (typeof DecompressionStream === 'undefined')
    return fail('This browser is too old: Chrome 103, Firefox 113 or Safari 16.4 is needed.');
  D = decode(await inflate($('data').textContent.trim()), head);
  $('data').textContent = '';
  S.dim = head.totals_us[head.first] ? head.first : Math.max(0, head.totals_us.findIndex(x => x > 0));
  if (head.idle >= 0 && !head.show_idle) S.off.add(head.idle);
  linkInit();
  $('split-cause').hidden = !hasCauses();
  findingsFill(); threadsFill(); timelineInit(); events();
  if (D.times.n) timelineEvents();
  linkGo(location.hash.slice(1));
  // for the console, and for tests
  window.gnomon = {S, TL, took, data: D, requests: head.requests, tree: () => T, frames: () => rects, fixed: lanesHeight, reweigh,
    timelineDraw, spread: timelineSpread, go: linkGo, search: q => { S.query = q; search(); }};
  document.documentElement.dataset.ready = Math.round(performance.now());
  (window.requestIdleCallback || setTimeout)(() => { D.methods = D.methods || methodsIndex(); }); // before it is asked for
}
main().catch(e => { fail('The data of this page is damaged: ' + e.message); throw e; });
