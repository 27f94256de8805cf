// SPDX-License-Identifier: Apache-2.0
// Each thing that the page does, on a recording of which all is known (scene.c):
//
//   node tests/browser/scene.mjs scene.html [SCREENSHOT_DIR]
import * as b from './browser.mjs';
import {box, canvas, check, frameAt, frames, get, hue, is, picture, pixel, press, rowAt, run, search, set, text} from './checks.mjs';

const [file, shots] = process.argv.slice(2);
const S = 1e6;
const total = () => get('Math.round(gnomon.tree().total[0])');
const names = async () => (await frames()).filter(f => !f.folded).map(f => f.name);
const rowNames = () => get('gnomon.TL.rows.map(r => r.name)');
const tip = () => get("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent");
const open = (hash = '') => b.open(file, hash);

async function totals() {
  await open('#d=wall');
  is('CPU time, without idle threads', await text('dims'), 'CPU15.00 sWall86.00 sOff CPU71.00 s');
  is('how much idle time is left out', await text('states'), /IDLE \(30\.00 s left out\)/);
  is('the tree has what the dimension says', await total(), 86 * S);
  await press('x');
  is('x shows idle threads', [await total(), (await rowNames()).includes('idle-#')], [116 * S, true]);
  await press('x');
  is('and hides them', [await total(), (await rowNames()).includes('idle-#')], [86 * S, false]);
}

async function findings() {
  const list = await get("[...document.querySelectorAll('#findings-list li')].map(l => l.textContent)");
  is('where the time went', await text('overview'), /^15\.0 s on the CPU, 1\.5 CPUs on average of 4; 71\.0 s off it: BLOCKED 40\.0 s, .*30\.0 s idle/);
  is('blocked throughout', list[0], /^blocked2 threads, 'worker-1' among them.* 2 of them in app\.Stock\.take\..*deadlock.*jcmd 4711/);
  is('starved, and by whom', list[1], /^starved.*waited 2\.00 s for a CPU.*others 62%: stress \(pid 4242\) 50%/);
  is('a limit of the container', list[2], /^throttledThe container's CPU limit stopped it for 1\.00 s in all/);
  is('a hot lock', list[3], /^hot lock6 threads waited for a lock in app\.Stock\.take, 40\.0 s together: 4\.0 of them/);
  is('an exhausted pool', list[4], /^poolAll 6 threads of 'worker-#' were busy throughout.*BLOCKED for 67%/);
  is('the share of collectors', list[5], /^gc2 threads of the garbage collector took 27% of the CPU time/);
  is('a thread that needs more than a CPU', list[6], /^one cpuThe thread 'main'/);
  is('what was lost', list[7], /^lost500 samples \(7%\)/);
  is('and no more', list.length, 8);
  const show = async kind => b.evaluate(`[...document.querySelectorAll('#findings-list li')].find(l => l.firstChild.textContent === '${kind}').querySelector('a').click()`);
  await show('pool');
  is('a finding shows its pool', [await total(), await text('crumbs')], [60 * S, 'allworker-# ✕']);
  await show('hot lock');
  is('a finding shows its states and marks its method', [await total(), await text('found')], [48 * S, /^83.3% · 40.00 s/.exec(await text('found')) ? await text('found') : 'marks']);
  is('it is in the address', await get('location.hash'), /s=BLOCKED%2CPARKED/);
  await picture('finding');
}

async function rows() {
  await open('#d=wall');
  is('pools and virtual threads are a row each', await rowNames(),
    ['main', 'GC Thread#', 'starved', '<img src=x onerror="document.title=\'owned\'">', 'virtual threads', 'worker-#', 'idle throughout']);
  await picture('rows');
  let r = await rowAt('worker-#', .25 * S);
  await b.hover(r.x, r.y);
  is('a pool tells how many were in which state', await tip(), /^worker-# at 250 ms6 BLOCKED$/);
  await b.hover((await rowAt('worker-#', .75 * S)).x, r.y);
  is('and a moment later', await tip(), /^worker-# at 7\d\d ms4 IO2 BLOCKED$/);
  await b.click(60, r.y);
  is('a click unfolds it', (await rowNames()).filter(n => /^worker-\d/.test(n)).sort(), [1, 2, 3, 4, 5, 6].map(n => `worker-${n}`));
  r = await rowAt('worker-#', .25 * S);
  await b.click(60, r.y);
  is('and folds it', (await rowNames()).length, 7);
  await b.click(r.x, r.y);
  is('a click on it chooses its threads', await total(), 60 * S);
  await b.click((await rowAt('virtual threads', 2 * S)).x, (await rowAt('virtual threads', 2 * S)).y);
  is('or the virtual ones', await total(), 8 * S);
  await press('Escape');
}

async function segments() {
  await open('#d=wall');
  await b.click(60, (await rowAt('worker-#', 0)).y);
  let r = await rowAt('worker-1', 5 * S);
  await b.hover(r.x, r.y);
  is('a segment tells state, length and stack', await tip(), /^worker-1BLOCKED for 10\.00 s, 0 s – 10\.00 s500 samples: {2}Stock\.take {2}Task\.run/);
  await picture('segment');
  r = await rowAt('worker-3', 2.75 * S);
  await b.hover(r.x, r.y);
  is('of another', await tip(), /^worker-3IO for 500 ms, 2\.50 s – 3\.00 s25 samples: {2}Database\.read/);
  await b.click(r.x, r.y);
  is('a click shows its thread and time', [await total(), await text('crumbs')], [.5 * S, 'allworker-3 ✕2.50 s – 3.00 s ✕']);
  check('and the flame graph its stack alone', (await names()).includes('app.Database.read') && !(await names()).includes('app.Stock.take'));
  await picture('segment-picked');
  await press('Escape', 'Escape');
  is('Escape goes back to all', await total(), 86 * S);
  await b.drag((await rowAt('main', 4 * S)).x, (await rowAt('main', 0)).y, (await rowAt('main', 6 * S)).x, (await rowAt('main', 0)).y);
  const us = await total(); // main 2, six workers 2 each, starved 2, virtual 2; to a pixel and a sample
  check(`a part of the time is dragged out: ${us / S} s`, Math.abs(us - 18 * S) < .2 * S);
  is('and said', await text('crumbs'), /all[34]\.\d\d s – [56]\.\d\d s ✕/);
  await b.click((await rowAt('main', 5 * S)).x, (await rowAt('main', 0)).y - 40, 2);
  is('a double click looks at all again', await total(), 86 * S);
  await b.evaluate('gnomon.S.spans = [[0, 1e6], [2e6, 3e6]]; gnomon.S.thread = {self: gnomon.TL.selves.find(s => s && s.name === "main").self}; gnomon.reweigh()');
  is('several parts of the time, of one thread', await total(), 2 * S);
}

async function javaOnly() {
  await open();
  const native = /^libc|^libjvm|^\(kernel\)/;
  is('native frames of Java threads are folded away', (await names()).filter(n => native.test(n)), ['libc.so.6.start_thread', 'libjvm.so.WorkerThread', 'libjvm.so.G1ParScanThreadState']);
  check('the mark of a doubt is of a native stack, too', (await names()).includes('(gnomon).[caller guessed]'));
  const f = await frameAt('app.Work.write');
  await b.hover(f.px, f.py);
  is('their time is their caller\'s, and said', await tip(), /^app\.Work\.write3\.00 s · 20\.0% of all · self 3\.00 s, 1\.50 s of it in native code/);
  await press('j');
  check('j shows them', (await names()).includes('(kernel).vfs_write') && (await names()).includes('libc.so.6.write'));
  await picture('native');
  is('the same time', await total(), 15 * S);
  await press('j', '2');
  check('marks of the recorder stay', (await names()).includes('(gnomon).[callers in the Java heap]'));
}

async function trunks() {
  await open();
  const trunk = (await frames()).find(f => f.folded);
  is('60 layers with one callee each are one row', trunk && trunk.folded, 59);
  check('so that what is hot is on the screen', (await frameAt('app.Work.hot')).y < 120);
  const g = await box('graph');
  await b.hover(g.x + trunk.x + 30, g.y + trunk.y + 9);
  is('which tells what is in it', await tip(), /^59 frames that call one other each.*framework\.Layer00\.call.*framework\.Layer58\.call/);
  await b.click(g.x + trunk.x + 30, g.y + trunk.y + 9);
  is('a click unfolds it', [(await frames()).some(f => f.folded), (await names()).includes('framework.Layer30.call')], [false, true]);
  await press('t', 't');
  check('t folds all again', (await frames()).some(f => f.folded));
  await search('Layer30');
  is('a match within is marked', [await pixel('graph', trunk.x + 2, trunk.y + 2), await text('found')], [[181, 23, 158], '66.7% · 10.00 s']);
  await press('Escape');
}

async function colours() {
  await open('#d=wall');
  const at = async name => { const f = await frameAt(name); return Math.round(hue(await pixel('graph', f.x + 3, f.y + 3))); };
  const near = (h, want) => Math.abs(h - want) < 12;
  check('wall frames have the colour of their state', near(await at('app.Database.read'), 280) && near(await at('app.Stock.take'), 26) && near(await at('app.Work.hot'), 146));
  const f = await frameAt('app.Task.run'), strip = async x => Math.round(hue(await pixel('graph', f.x + f.w * x, f.y + 16)));
  check('a mixed one the shares of its states below its name', near(await strip(.3), 26) && near(await strip(.9), 280));
  await press('1');
  check('CPU frames have that of what ran them', near(await at('app.Work.hot'), 146) && near(await at('libjvm.so.WorkerThread'), 8));
}

async function searches() {
  await open('#d=wall');
  await search('Stock');
  is('a search sums', await text('found'), '46.5% · 40.00 s');
  const marked = async (name, us) => {
    const r = await rowAt(name, us), t = await box('tl');
    return JSON.stringify(await pixel('tl', r.x - t.x, r.top + r.h - 4)) === '[181,23,158]';
  };
  is('and marks the timeline', [await marked('worker-#', .25 * S), await marked('main', .25 * S)], [true, false]);
  await picture('search');
  await search('vfs_read');
  is('what is folded away is told', await text('found'), '0% · 0 s · 23.3% in native code (j)');
  await search('(((');
  is('a bad expression is taken literally', await text('found'), '0% · 0 s');
  await press('Escape');
}

async function methods() {
  await open('#d=wall');
  await press('m');
  const row = n => get(`[...document.querySelectorAll('#methods-body tr')[${n}].children].map(c => c.textContent || c.title)`);
  is('methods by their own time', await row(0), ['40.00 s · 46.5%', '40.00 s · 46.5%', 'BLOCKED', 'app.Stock.take']);
  is('and the next', await row(1), ['20.00 s · 23.3%', '20.00 s · 23.3%', 'IO', 'app.Database.read']);
  await b.evaluate("document.querySelector('#methods th[data-sort=total]').click()");
  is('or by their total', await row(0), ['0 s · 0%', '64.00 s · 74.4%', '63% BLOCKED, 31% IO, 3% QUEUED, 2% RUNNING, 2% SLEEPING', 'java.lang.Thread.run']);
  await picture('methods');
  await search('app.Work|WorkerThread');
  is('a search narrows them', await get("[...document.querySelectorAll('#methods-body tr td.name')].map(c => c.textContent)"), ['app.Work.hot', 'libjvm.so.WorkerThread native', 'app.Work.write']);
  await b.evaluate("[...document.querySelectorAll('#methods-body tr')].find(r => r.textContent.includes('app.Work.hot')).click()");
  is('a click shows who calls one', [await get('gnomon.S.tab'), (await names()).slice(0, 3)], ['flame', ['all', 'app.Work.hot', 'framework.Layer59.call']]);
  await picture('callers');
}

async function links() {
  await open();
  await press('2');
  await search('Stock');
  await b.click(60, (await rowAt('worker-#', 0)).y);
  const r = await rowAt('worker-4', 3.25 * S);
  await b.click(r.x, r.y);
  const f = await frameAt('app.Task.run');
  await b.click(f.px, f.py);
  await press('Escape'); // the search; what is zoomed to stays
  await search('take');
  const hash = await get('location.hash'), seen = await get('({zoom: gnomon.S.zoom, range: gnomon.S.range.map(Math.round), thread: gnomon.S.thread, dim: gnomon.S.dim, q: gnomon.S.query})');
  await b.evaluate('gnomon.S.select = -1');
  await open(hash);
  is(`the address brings all back: ${hash}`, await get('({zoom: gnomon.S.zoom, range: gnomon.S.range, thread: gnomon.S.thread, dim: gnomon.S.dim, q: gnomon.S.query})'), seen);
  is('and stays as it is', await get('location.hash'), hash);
  await open('#d=__proto__&z=zzzz..-1&r=9-1&s=%3Cb%3E&q=(((&t=99999&g=nobody&v=x&o=y&p=z&k=constructor');
  is('a senseless one opens the page', await total(), 15 * S);
  await open('#o=flame&f=1&n=1');
  const [root] = await frames(), g = await box('graph');
  is('flames are seen from where they stand', [root.name, root.y > 0 && root.y + 19 <= g.height], ['all', true]);
  await b.evaluate("location.hash = '#d=off&v=methods'");
  await b.sleep(100);
  is('a changed one is followed', await get('[gnomon.S.dim, gnomon.S.tab]'), [2, 'methods']);
}

async function keys() {
  await open('#d=wall');
  await b.evaluate("document.getElementById('tl-scroll').focus()");
  await press('ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown');
  is('arrows go from row to row', await tip(), /^worker-#6 threads; Enter unfolds them/);
  await press('Enter', 'ArrowDown', 'ArrowDown', 'ArrowDown');
  is('and into a pool', await tip(), /^worker-3(IO|BLOCKED) for 500 ms, [45]/);
  const first = await tip();
  await press('ArrowRight');
  is('and from segment to segment', [first.includes('IO') !== (await tip()).includes('IO'), /for 500 ms/.test(await tip())], [true, true]);
  await press('Enter');
  is('Enter looks at one', await total(), .5 * S);
  await press('+', '+');
  check('+ spreads the time', await get('gnomon.TL.to - gnomon.TL.from') < 3 * S);
  await press('-', '-', '-', '-');
  is('- shows all of it', await get('[gnomon.TL.from, gnomon.TL.to === gnomon.TL.end]'), [0, true]);
  await b.evaluate("document.getElementById('scroll').focus()");
  await press('Escape', 'Escape', 'ArrowDown', 'ArrowDown');
  is('arrows walk the stacks', await text('detail'), /^java\.util\.concurrent\.ThreadPoolExecutor\$Worker\.run.*60\.00 s/);
  await press('3');
  is('3: off CPU', await total(), 71 * S);
  await press('r');
  is('r: callers', (await names()).includes('app.Stock.take'), true);
  await press('r', 'i');
  is('i: flames', await get('gnomon.S.flip'), true);
  await press('i', '?');
  is('?: the keys', await get("document.getElementById('keys').open"), true);
  await b.evaluate("document.getElementById('keys').close()");
  await set('split', 'state');
  is('split by state', (await names()).includes('BLOCKED'), true);
  await b.evaluate("[...document.querySelectorAll('#states button')].find(c => c.textContent === 'BLOCKED').click()");
  is('a state can be left out', await total(), 31 * S);
}

async function lanes() {
  await open('#d=wall');
  const t = await box('tl'), x = async us => (await rowAt('main', us)).x;
  const say = async us => { await b.hover(await x(us), t.y + 20 + 24 + 12); return tip(); };
  is('a lane each of CPU, heap, threads, throttling', await say(3.5 * S), /CPU load: 25 % JVM, 50 % machineheap: [34]\d MB used, 128 MB committedJava threads: 24 threadsthrottled: 0 CPUs$/);
  is('a load is of the time before it was told', await say(5.5 * S), /25 % JVM, 100 % machine.*throttled: 0\.5 CPUs/);
  is('and the first of the first second', await say(.5 * S), /25 % JVM, 50 % machinethrottled/);
  is('what changes slowly stays as it was', await say(9.5 * S), /Java threads: 30 threads/);
  is('of the heap nothing is said after its last collection', /used/.test(await say(9 * S)), false);
  is('a pause tells its length, name and cause', await say(5.1 * S), /GC: 200 ms, G1Full, System\.gc\(\)$/);
  is('whatever is in its name', await say(7.55 * S), /GC: 100 ms, <\/script><b>Made Up, G1 Evacuation Pause$/);
  const r = await rowAt('main', 5.1 * S), at = async us => JSON.stringify(await pixel('tl', await x(us) - t.x, r.top + 8));
  check('a band goes through the threads', await at(5.1 * S) !== await at(6.5 * S));
  await picture('lanes');
}

async function collections() {
  const cpu = S / 100;
  await open();
  is('how long they took, and what of them is not drawn', await get("document.querySelector('#bands button').title"), /stopped the JVM for 400 ms .*of 5 more/);
  await b.evaluate("document.querySelectorAll('#bands button')[1].click()");
  is('the rest is chosen by a click', await total(), 1440 * cpu);
  await b.evaluate("document.querySelectorAll('#bands button')[1].click()");
  is('and all again', await total(), 1500 * cpu);
  await press('g');
  is('g: what ran meanwhile', [await total(), await text('crumbs')], [60 * cpu, 'allduring GC ✕']); // main 40, and two collectors 10 each
  is('of a method', Math.round(100 * (await frameAt('app.Work.write')).w / (await frames())[0].w), 17); // 10 of 60
  await picture('during');
  const hash = await get('location.hash');
  await press('g');
  is('g: what ran else', [await total(), await get('location.hash')], [1440 * cpu, '#b=out']);
  await press('g');
  is('g: all', [await total(), await get('location.hash')], [1500 * cpu, '']);
  await open(hash + '&r=5105000-7555000');
  is('of a part of the time', await total(), 15 * cpu); // 5.11 to 5.2, and 7.51 to 7.55
  await press('Escape');
  is('Escape: of all of it', await total(), 60 * cpu);
  await press('Escape');
  is('and without collections', await total(), 1500 * cpu);
  await press('2', 'g');
  const us = await total(); // wall time is spread over a wait: main, six workers and virtual threads 400 ms each, two collectors 100 ms, starved 200 ms
  check(`what waited meanwhile: ${us / S} s`, Math.abs(us - 3.6 * S) < .1 * S);
}

async function hostile() {
  await open('#d=wall&p=thread');
  await b.sleep(50);
  is('names are text', [await get('document.title'), await get("document.querySelectorAll('img, #tip script, #detail script').length")], ['scene.jfr · gnomon', 0]);
  await search('bold');
  is('whatever is in them', await text('found'), '1.16% · 1.00 s');
}

async function looks() {
  for (const [width, height] of [[1400, 900], [900, 900]]) {
    await b.size(width, height);
    for (const theme of ['light', 'dark']) {
      await open('#d=wall');
      if (await get('document.documentElement.dataset.theme') !== theme) await press('d');
      is(`${width} px, ${theme}: nothing is cut off`, await get('[document.documentElement.scrollWidth <= innerWidth, document.getElementById("graph").clientHeight > 150]'), [true, true]);
      await picture(`${width}-${theme}`);
      await press('m');
      await picture(`${width}-${theme}-methods`);
    }
  }
}

await run(shots, async () => {
  await b.size(1400, 900);
  for (const test of [totals, findings, rows, segments, javaOnly, trunks, colours, searches, methods, links, keys, lanes, collections, hostile, looks]) {
    console.log(`== ${test.name}`);
    await test();
  }
});
