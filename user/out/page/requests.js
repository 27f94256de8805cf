// SPDX-License-Identifier: Apache-2.0
// Requests, by endpoint, and the slowest of them. What is chosen here is what the other tabs and the timeline show. An
// endpoint's slow ones (the slowest tenth) can be held against its fast ones (the faster half).
//
//   head.requests  {n, endpoints_n, samples, nameless, lost, interval, endpoints, told}, times in us
//     endpoint     {name, n, fast, slow: how many of these, p50, p95, p99, did: by DID, causes: [[name, did, us], ...]};
//                  or {others: how many endpoints, n, did ...}
//     told         {endpoint, pace: 0 fast, 2 slow; of one request also from, wall, did, trace, root, thread, threads, causes}
//                  else it is all others of that endpoint and pace; numbers of these are in the times (data.js)

const DID = ['running', 'queued', 'blocked', 'waiting'], DID_STATE = ['RUNNING', 'QUEUED', 'BLOCKED', 'WAITING'];
const FAST = 0, SLOW = 2, SLOWEST_SHOWN = 50;

const endpointName = e => { const p = head.requests.endpoints[e]; return p.others ? `${p.others.toLocaleString('en')} other endpoints` : p.name || '(no name)'; };
const toldOne = k => head.requests.told[k];
const oneName = r => `${endpointName(r.endpoint)}, ${fmtUs(r.wall)}`;

// ---- what is chosen -----------------------------------------------------------------------------

const requestKey = () => S.request ? `${S.request.endpoint}.${S.request.one}.${S.compare}` : '';

// By the numbers that samples have: 1 where the request is looked at, 2 where it is held against these. null: all are.
function requestsWanted() {
  const r = S.request, key = requestKey();
  if (!r || !D.times.request) return null;
  if (requestsWanted.key === key) return requestsWanted.list;
  const list = new Uint8Array(head.requests.told.length + 1);
  head.requests.told.forEach((t, k) => {
    if (r.one !== undefined ? k !== r.one : t.endpoint !== r.endpoint) return;
    list[k + 1] = !S.compare ? 1 : t.pace === SLOW ? 2 : t.pace === FAST ? 1 : 0;
  });
  Object.assign(requestsWanted, {key, list});
  return list;
}

// Of each thread's name whether it worked for what is chosen; null: all.
function requestThreads() {
  const wanted = requestsWanted(), t = D.times;
  if (!wanted) return null;
  return D.threads.map((_, th) => { for (let i = t.from[th]; i < t.from[th + 1]; i++) if (wanted[t.request[i]]) return true; return false; });
}

const requestSaid = () => S.request.one !== undefined ? oneName(toldOne(S.request.one)) : endpointName(S.request.endpoint) + (S.compare ? ', slow against fast' : '');

// The timeline shows the time of a request; without one all of the time again.
function requestTime() {
  const one = S.request && S.request.one !== undefined ? toldOne(S.request.one) : null;
  if (one) {
    const room = Math.max(one.wall * .06, 1000);
    TL.from = Math.max(TL.begin, one.from - one.wall * .5 - room);
    TL.to = Math.min(TL.end, one.from + one.wall + room);
    if (TL.to <= TL.from) { TL.from = TL.begin; TL.to = TL.end; }
  } else if (requestTime.was) { TL.from = TL.begin; TL.to = TL.end; }
  requestTime.was = !!one;
  TL.cursor = null;
}

function requestPick(which, compare = false, tab = S.tab) {
  S.request = which; S.compare = compare;
  if (which && !dimHas(S.dim)) S.dim = 1;
  requestTime();
  if (tab !== S.tab) { const changes = (tab === 'causes') !== (S.tab === 'causes'); S.tab = tab; if (changes) causesUsual(tab === 'causes'); }
  tabs(); controls();
  act('request', () => remake());
}

// Whether there is such time of what is chosen: of a request that waits there is none of a CPU.
function dimHas(dim) {
  const wanted = requestsWanted(), t = D.times, c = D.cells;
  for (let i = 0; wanted && i < t.n; i++) if (wanted[t.request[i]] && c.dims[t.cell[i]] & 1 << dim) return true;
  return !wanted;
}

// Of a link; what the page has not is left out.
function requestRead(p) {
  const list = head.requests ? head.requests.endpoints : [], u = p.has('u') ? Number(p.get('u')) : -1;
  const e = p.has('e') ? list.findIndex((_, k) => endpointName(k) === p.get('e')) : -1;
  const one = head.requests && head.requests.told[u];
  S.request = one && one.wall !== undefined ? {one: u} : e >= 0 ? {endpoint: e} : null;
  S.compare = e >= 0 && !!S.request && S.request.endpoint === e && p.get('c') === '1' && list[e].slow > 0;
}

// Of a node, how long it takes in a request of each kind, and its share of these.
function requestsCompared(n) {
  const e = head.requests.endpoints[S.request.endpoint], a = T.total[n], b = T.other[n];
  return `fast ${fmtUs(a / (e.fast || 1))} a request, ${pct(a, T.total[0])}   slow ${fmtUs(b / (e.slow || 1))} a request, ${pct(b, T.other[0])}`;
}

// ---- tables -------------------------------------------------------------------------------------

function didCell(row, did) {
  const td = cell(row, '', 'did'), bar = document.createElement('div'), all = did.reduce((a, b) => a + b, 0), small = document.createElement('small');
  did.forEach((us, k) => {
    if (!(us / all > .003)) return;
    const i = document.createElement('i');
    i.style.width = 100 * us / all + '%';
    i.style.background = stateColour(DID_STATE[k]);
    bar.append(i);
  });
  small.textContent = all ? sharesSaid(did.map((us, k) => [DID[k], us / all])) : '';
  td.title = did.map((us, k) => `${DID[k]} ${fmtUs(us)}`).join(', ');
  td.append(bar, small);
}

// A name, and below it what is waited for with its share of all that was done.
function namedCell(row, name, of, most) {
  const td = cell(row, name, 'name'), all = of.did.reduce((a, b) => a + b, 0), causes = of.causes.filter(c => c[2] >= .005 * all).slice(0, most);
  if (!causes.length) return;
  const small = document.createElement('small');
  small.textContent = causes.map(c => `${c[0]} ${pct(c[2], all)}`).join(' · ');
  td.title = of.causes.map(c => `${c[0]}: ${fmtUs(c[2])} ${DID[c[1]]}`).join('\n');
  td.append(small);
}

function rowOfTable(body, selected, data) {
  const tr = document.createElement('tr');
  tr.tabIndex = 0;
  Object.assign(tr.dataset, data);
  tr.setAttribute('aria-selected', selected);
  body.append(tr);
  return tr;
}

function endpointRow(body, p, e) {
  const tr = rowOfTable(body, !!S.request && S.request.endpoint === e, {endpoint: e});
  cell(tr, p.n.toLocaleString('en'), 'number');
  for (const k of ['p50', 'p95', 'p99']) cell(tr, p[k] === undefined ? '' : fmtUs(p[k]), 'number');
  cell(tr, fmtUs(p.did[0]), 'number').title = `${fmtUs(p.did[0] / (p.n || 1))} a request`;
  didCell(tr, p.did);
  namedCell(tr, endpointName(e), p, 4);
  const acts = cell(tr, '', 'acts');
  acts.append(button('flame graph', 'The flame graph of these requests', ev => { ev.stopPropagation(); requestPick({endpoint: e}, false, 'flame'); }));
  const slow = button('slow against fast', `What the slowest ${p.slow.toLocaleString('en')} do that the faster ${p.fast.toLocaleString('en')} do not`,
    ev => { ev.stopPropagation(); if (S.dim === 0) S.dim = 1; requestPick({endpoint: e}, true, 'flame'); });
  slow.disabled = !p.slow || !p.fast;
  acts.append(slow);
}

function slowestRow(body, r, k) {
  const tr = rowOfTable(body, !!S.request && S.request.one === k, {one: k});
  cell(tr, fmtUs(r.wall), 'number');
  cell(tr, fmtUs(Math.max(0, r.from)), 'number');
  didCell(tr, r.did);
  cell(tr, r.thread + (r.threads > 1 ? ` and ${r.threads - 1} more` : ''), 'name');
  namedCell(tr, endpointName(r.endpoint), r, 3);
  cell(tr, [r.trace, r.root].filter(Boolean).join(' '), 'ids');
}

function requestsNote() {
  const r = head.requests, says = [`${r.n.toLocaleString('en')} requests to ${r.endpoints_n.toLocaleString('en')} endpoint${r.endpoints_n === 1 ? '' : 's'} were seen, by ${r.samples.toLocaleString('en')} samples.`];
  if (r.interval) says.push(`Wall times are right to ${fmtUs(r.interval)}; of requests that are shorter, some were not seen.`);
  if (r.nameless) says.push(`${r.nameless.toLocaleString('en')} samples have a context without ids: of which request is not known.`);
  if (r.lost) says.push(`Of ${r.lost.toLocaleString('en')} samples the context was lost.`);
  $('requests-note').textContent = says.join(' ');
}

function requestsDraw() {
  if (!T || S.tab !== 'requests') return;
  const r = head.requests, bodies = [$('endpoints-body'), $('slowest-body')], focus = document.activeElement.closest && document.activeElement.closest('#requests tr');
  const e = S.request ? S.request.endpoint ?? toldOne(S.request.one).endpoint : -1;
  requestsNote(); crumbs();
  for (const b of bodies) b.textContent = '';
  r.endpoints.forEach((p, k) => endpointRow(bodies[0], p, k));
  const list = r.told.map((t, k) => [t, k]).filter(([t]) => t.wall !== undefined && (e < 0 || t.endpoint === e)).sort((x, y) => y[0].wall - x[0].wall).slice(0, SLOWEST_SHOWN);
  $('slowest-title').textContent = list.length ? e < 0 ? 'The slowest' : `The slowest of ${endpointName(e)}` : '';
  bodies[1].parentElement.hidden = !list.length;
  for (const [t, k] of list) slowestRow(bodies[1], t, k);
  if (focus) { // the tables are new ones
    const same = [...document.querySelectorAll('#requests tbody tr')].find(t => t.dataset.endpoint === focus.dataset.endpoint && t.dataset.one === focus.dataset.one);
    if (same) same.focus();
  }
  $('detail').textContent = 'Enter or a click chooses an endpoint or a request: the timeline and the other tabs show what was done for it.';
}

// Chooses a row's; once more, all again.
function requestRowPick(tr) {
  const which = tr.dataset.one !== undefined ? {one: +tr.dataset.one} : {endpoint: +tr.dataset.endpoint};
  const same = S.request && S.request.one === which.one && S.request.endpoint === which.endpoint;
  requestPick(same ? null : which);
}

function requestsEvents() {
  const box = $('requests'), of = e => e.target.closest('tbody tr');
  if (!head.requests) return;
  box.onclick = e => { const tr = of(e); if (tr && !getSelection().toString()) requestRowPick(tr); };
  box.onkeydown = e => {
    const tr = of(e), rows = [...box.querySelectorAll('tbody tr')], to = e.key === 'ArrowDown' ? rows[rows.indexOf(tr) + 1] : e.key === 'ArrowUp' ? rows[rows.indexOf(tr) - 1] : null;
    if (!tr || (e.target !== tr && e.key === 'Enter')) return; // a button's own
    if (e.key === 'Enter') requestRowPick(tr);
    else if (to) to.focus();
    else return;
    e.preventDefault(); e.stopPropagation();
  };
}

