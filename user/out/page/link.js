// SPDX-License-Identifier: Apache-2.0
// What is looked at, behind the '#' of the address: to be sent to others, kept, and followed by the
// findings. Only what differs from how the page opens is in it.
//
//	d=wall          dimension            v=methods       tab
//	s=RUNNING,IO    states shown         q=REGEX         search
//	r=FROM-TO       time, in us          t=N  g=NAME     thread by its number (t=virtual: those), or pool
//	b=in|out        during, outside collections
//	o=flame|callers direction            p=group         split by (none: causes by nothing)
//	e=NAME  u=N     requests to an endpoint, or one of them; c=1: its slow ones against its fast ones
//	n=1  f=1        native frames shown, trunks unfolded
//	z=1a.2f         zoom: frames from the root, base 36
//	k=self|total    order of the methods

const usual = {};

function linkInit() {
  usual.dim = S.dim;
  usual.off = [...S.off].sort().join();
}

function linkOf() {
  const p = new URLSearchParams(), put = (k, v, when) => { if (when) p.set(k, v); };
  put('d', head.dims[S.dim], S.dim !== usual.dim);
  put('v', S.tab, S.tab !== 'flame');
  put('s', D.states.filter((_, s) => !S.off.has(s)).join(), [...S.off].sort().join() !== usual.off);
  put('q', S.query, S.query);
  put('r', S.range && S.range.map(Math.round).join('-'), S.range);
  put('b', S.bands, S.bands);
  const k = S.thread || {};
  put('t', k.virtual ? 'virtual' : k.self, k.virtual || k.self !== undefined);
  put('g', D.groups[k.group], k.group !== undefined);
  put('o', S.reverse ? 'callers' : 'flame', S.reverse || S.flip);
  put('p', S.split || 'none', S.split !== usualSplit());
  if (S.request && S.request.endpoint !== undefined) p.set('e', endpointName(S.request.endpoint));
  put('u', S.request && S.request.one, S.request && S.request.one !== undefined);
  put('c', 1, S.compare);
  put('n', 1, !S.java && hasBoth());
  put('f', 1, !S.trunks);
  put('z', framesOf(S.zoom).map(f => f.toString(36)).join('.'), S.zoom > 0 && !S.split);
  put('k', S.sort, S.sort !== 'self');
  return p.toString();
}

let written = '';

function linkWrite() {
  const link = linkOf();
  if (link === written) return;
  written = link;
  try { history.replaceState(null, '', link ? '#' + link : location.pathname + location.search); } catch { /* a sandboxed frame has no address of its own */ }
}

// Takes any text: what it does not know, or cannot be, is left as the page opens.
function linkRead(text) {
  const p = new URLSearchParams(text), pick = (k, list, other) => list.includes(p.get(k)) ? p.get(k) : other;
  const dim = head.dims.indexOf(p.get('d')), states = p.has('s') ? p.get('s').split(',') : null;
  S.dim = dim >= 0 && (head.totals_us[dim] || head.diff) ? dim : usual.dim;
  S.tab = pick('v', tabsHere().map(t => t.id), 'flame');
  if (S.tab === 'causes' && dim < 0) S.dim = head.totals_us[2] ? 2 : S.dim;
  S.off = states && states.some(s => D.states.includes(s)) ? new Set(D.states.map((_, s) => s).filter(s => !states.includes(D.states[s])))
    : new Set(usual.off ? usual.off.split(',').map(Number) : []);
  S.query = (p.get('q') || '').slice(0, 1000);
  const r = (p.get('r') || '').match(/^(\d+)-(\d+)$/);
  S.range = r && +r[1] < +r[2] ? [+r[1], +r[2]] : null;
  S.spans = null;
  S.bands = BANDS.length ? pick('b', ['in', 'out'], '') : '';
  const self = p.has('t') ? Number(p.get('t')) : -1, group = D.groups.indexOf(p.get('g'));
  S.thread = p.get('t') === 'virtual' ? {virtual: true} : D.selfOf.includes(self) ? {self} : group >= 0 ? {group} : null;
  S.reverse = p.get('o') === 'callers'; S.flip = p.get('o') === 'flame';
  S.split = S.reverse ? '' : pick('p', ['group', 'thread', 'state', 'none', ...hasCauses() ? ['cause'] : []], usualSplit()).replace('none', '');
  requestRead(p);
  S.java = p.get('n') !== '1'; S.trunks = p.get('f') !== '1';
  S.sort = pick('k', ['self', 'total', 'name'], 'self');
  return (p.get('z') || '').split('.').slice(0, 4096).map(f => parseInt(f, 36));
}

function linkGo(text) {
  const frames = linkRead(text);
  $('search').value = S.query;
  requestTime();
  tabs(); threadShow(); controls();
  remake(frames);
  scrollHome();
}

