// SPDX-License-Identifier: Apache-2.0
// What `gnomon render` makes for viewers, in these viewers:
//
//   node view.mjs speedscope FILE   its JSON schema, then speedscope itself: "PROFILE TAB TIME" a line
//   node view.mjs firefox FILE NAME...  the Firefox Profiler's loader: "THREAD TAB MS TAB CPU-MS" a line for each so named
//   node view.mjs svg FILE          a browser: "frames N", "all TITLE", "found SHARE", "zoomed N"
//
// NODE_MODULES: where package.json's packages are; CHROMIUM; TMPDIR: for what they write.
import {execFileSync, spawnSync} from 'node:child_process';
import {mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {basename, join, resolve} from 'node:path';

const modules = resolve(process.env.NODE_MODULES), need = createRequire(modules + '/');
const [kind, file] = [process.argv[2], resolve(process.argv[3])];
const dir = mkdtempSync(join(tmpdir(), 'gnomon-view-'));
process.on('exit', () => rmSync(dir, {recursive: true, force: true}));
process.on('SIGTERM', () => process.exit(143));
const fail = why => { console.error(why); process.exit(1); };

// The document after its scripts have run, for `ms` of its own time.
function opened(url, ms) {
  const r = spawnSync(process.env.CHROMIUM || 'chromium', ['--headless', '--no-sandbox', '--disable-gpu',
    '--disable-background-networking', '--allow-file-access-from-files', `--user-data-dir=${dir}/chromium`,
    `--virtual-time-budget=${ms}`, '--dump-dom', url], {encoding: 'utf8', timeout: 120000, maxBuffer: 1 << 30});
  if (r.status !== 0 || !r.stdout) fail(`no document from the browser: ${r.error || r.stderr.slice(-500)}`);
  return r.stdout;
}

function speedscope() {
  const Ajv = need('ajv').default, release = join(modules, 'speedscope/dist/release');
  const schema = JSON.parse(readFileSync(join(release, 'file-format-schema.json'), 'utf8'));
  const valid = new Ajv({strict: false}).compile(schema);
  if (!valid(JSON.parse(readFileSync(file, 'utf8')))) fail(JSON.stringify(valid.errors.slice(0, 3)));
  const script = join(dir, 'profile.js'); // as its own command hands a file over
  writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, ` +
    `"${readFileSync(file).toString('base64')}")`);
  const dom = opened(`file://${release}/index.html#localProfilePath=${script}`, 20000);
  const rows = [...dom.matchAll(/<tr title="([^"]*)".*?<td[^>]*>([0-9:.]+(?:ns|µs|ms|s|))<\/td><\/tr>/gs)];
  if (!rows.length) fail(`speedscope shows no profile: ${dom.slice(0, 300)}`);
  for (const [, name, time] of rows) console.log(`${name}\t${time}`);
}

// The daemon that has our file, also one that could not load it.
function daemons_end() {
  for (const pid of readdirSync('/proc').filter(n => /^[0-9]+$/.test(n))) {
    let words = [];
    try { words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0'); } catch { /* it has ended */ }
    if (words[words.indexOf('--daemon') + 1] === file && words.includes('--daemon')) process.kill(+pid);
  }
}

// Its daemon may take longer to start than it is waited for: it says so, and to ask again.
function firefox() {
  const cli = join(modules, '@firefox-devtools/profiler-cli/dist/profiler-cli.js');
  const env = {...process.env, HOME: dir, PROFILER_CLI_SESSION_DIR: join(dir, 'sessions')};
  const ask = (...args) => spawnSync(process.execPath, [cli, ...args], {encoding: 'utf8', env, timeout: 60000, maxBuffer: 1 << 28});
  const json = (...args) => {
    const r = ask(...args, '--json');
    try { return JSON.parse(r.stdout); } catch { return fail(`${args.join(' ')}: ${r.stderr || r.stdout}`); }
  };
  let loaded = ask('load', file);
  process.on('exit', daemons_end);
  for (let i = 0; i < 60 && /did not become ready/.test(loaded.stderr); i++) {
    execFileSync('sleep', ['0.5']);
    if (ask('profile', 'info', '--json').stdout.startsWith('{')) loaded = {status: 0};
  }
  if (loaded.status !== 0) fail(`not loaded: ${loaded.stderr}${loaded.stdout}`);
  const threads = json('thread', 'list', '--limit', '0').threads;
  if (!threads.length) fail('no threads');
  for (const t of threads.filter(t => process.argv.slice(4).includes(t.name))) {
    const s = json('thread', 'samples', '--thread', t.threadHandle, '--include-idle');
    console.log(`${t.name}\t${s.categoryBreakdown.totalSamples}\t${t.cpuMs}`);
  }
}

// A copy that, when it has begun, searches and zooms as somebody would who types and clicks.
function svg() {
  const play = `<script><![CDATA[
    prompt = () => 'Harness';
    document.getElementById('search').dispatchEvent(new MouseEvent('click'));
    const found = document.getElementById('found').textContent, frames = document.querySelectorAll('g.f');
    frames[frames.length >> 1].dispatchEvent(new MouseEvent('click'));
    const zoomed = [...frames].filter(g => g.style.display !== 'none').length;
    document.documentElement.setAttribute('data-said', JSON.stringify({frames: frames.length,
      all: frames[0].querySelector('title').textContent, found, zoomed}));
  ]]></script></svg>`;
  const copy = join(dir, 'copy.svg'), text = readFileSync(file, 'utf8');
  if (!text.trimEnd().endsWith('</svg>')) fail('no end');
  writeFileSync(copy, text.trimEnd().slice(0, -6) + play);
  const dom = opened(`file://${copy}`, 5000), said = dom.match(/data-said="([^"]*)"/);
  if (!said) fail(`no well-formed picture: ${dom.match(/error on line[^<]*/) || dom.slice(0, 300)}`);
  const o = JSON.parse(said[1].replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&'));
  console.log(`frames ${o.frames}\nall ${o.all.split('\n')[1]}\nfound ${o.found}\nzoomed ${o.zoomed}`);
}

({speedscope, firefox, svg})[kind]();
