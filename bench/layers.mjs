import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { compileService } from '../docker/setup/compile.mjs';
import { Failure, runCommand } from '../docker/setup/failure.mjs';
import { prepareAll } from '../docker/setup/prepare.mjs';
import { createProgress } from '../docker/setup/progress.mjs';
import { engineEnvironment, mountsEnvironment } from '../docker/setup/serve.mjs';
import { repositoryRoot } from '../docker/setup/settings.mjs';
import { makeSkills, makeZip, TEXT_LINE, bigFile } from './layer-files.mjs';
import { judgeLayers } from './layer-targets.mjs';
import { ratio, summarize, tableOf } from './summary.mjs';
import { tell } from './verdicts.mjs';

/** @typedef {import('../packages/skill-layers/dist/index.js').SkillLayers} SkillLayers */
/** @typedef {import('../packages/skill-layers/dist/index.js').SkillPlace} SkillPlace */

const HELP = `Usage: npm run bench:layers -- [--only files|execs] [--runs N] [--dir FOLDER] [--json FILE]

Skills as files. Exits with 1 when something takes longer than was promised.

  files   the first touch of an agent with 200 skills of 50 files, against copying
          them; a merged list of 10,000 files; an edit of one line of a 1 MB file of
          the baseline; an upload of an archive of 50 MB with 2,000 files, against
          unzip; the status and the list of 200 skills. Needs the programs zip and
          unzip, and no engine
  execs   a warm command in a layered skill, against the same warm exec in a
          project, alternating; needs an engine
`;
const PARTS = ['files', 'execs'];

const SKILLS = 200;
const FILES = 50;
const COPIES = 2;
const ARCHIVE_BYTES = 50_000_000;
/** Of each of its 2,000 files: they pack to a bit more than a third. */
const ARCHIVED_FILE_BYTES = 75_000;
/** Each leaves all of it twice, until the end. */
const UPLOADS = 5;

await runCommand(async (signal) => {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '10' },
      dir: { type: 'string', default: os.tmpdir() },
      json: { type: 'string' },
      only: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const parts = values.only === undefined ? PARTS : [values.only];
  if (parts.some((part) => !PARTS.includes(part))) {
    throw new Failure(`--only takes ${PARTS.join(' or ')}.`, { exitCode: 2 });
  }
  const runs = Number(values.runs);
  await compileService({ root: repositoryRoot, env: process.env, signal, say: () => undefined });
  const files = parts.includes('files') ? await measureFiles(runs, values.dir) : undefined;
  const execs = parts.includes('execs') ? await measureExecs(runs, signal) : undefined;
  if (values.json !== undefined) {
    writeFileSync(values.json, `${JSON.stringify({ files, execs }, null, 2)}\n`);
  }
  return tell(judgeLayers([...(files?.results ?? []), ...(execs?.results ?? [])]));
});

/**
 * @param {number} runs
 * @param {string} dir
 */
async function measureFiles(runs, dir) {
  const { SkillLayers } = await import('../packages/skill-layers/dist/index.js');
  const contracts = await import('../packages/contracts/dist/index.js');
  const root = realpathSync(mkdtempSync(path.join(dir, 'secbox-layers-')));
  try {
    const product = path.join(root, 'product');
    mkdirSync(product);
    // More entries than an upload has by default: 200 skills come in one archive here.
    const { defaultArchiveLimits } = await import('../packages/skill-archive/dist/index.js');
    const archiveLimits = { ...defaultArchiveLimits, entries: 50_000 };
    const { sandboxOwner } = await import('../packages/workspace/dist/index.js');
    // As the server does it: to give files away is a part of the work.
    const ownership = process.getuid?.() === 0 ? { owner: sandboxOwner } : {};
    const layers = await SkillLayers.open({ root: product, archiveLimits, ...ownership });
    /** @type {(user: string, skill: string, agent?: string) => SkillPlace} */
    const at = (user, skill, agent = 'agent') => ({
      userId: contracts.parseUserId(user),
      agentId: contracts.parseAgentId(agent),
      skillId: contracts.parseLayeredSkillId(skill),
    });
    const work = { layers, root, product, runs, at };
    const touch = await measureFirstTouch(work);
    const results = [
      ...touch.results,
      await measureStatus(work),
      await measureSkillList(work),
      await measureList(work),
      await measureEdit(work),
      ...(await measureUpload(work)),
    ];
    const find = (/** @type {string} */ name) =>
      results.find((result) => result.name === name)?.p50 ?? Number.NaN;
    const figures = {
      runs,
      results,
      bytes_copied_at_first_touch: touch.bytes,
      touch_to_copy: ratio(find('first touch'), find('full copy')),
      unzip_to_upload: ratio(find('unzip'), find('upload')),
    };
    process.stdout.write(
      `${tableOf(results)}\nfirst touch wrote ${touch.bytes} bytes, and takes ${figures.touch_to_copy} of a full copy\n` +
        `upload has ${figures.unzip_to_upload} times the speed of unzip\n`,
    );
    await layers.close();
    return figures;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/**
 * @param {number} runs
 * @param {AbortSignal} signal
 */
async function measureExecs(runs, signal) {
  const { env } = process;
  const progress = createProgress({ stream: process.stderr, env });
  const { endpoint, mountsProgram } = await prepareAll({ env, signal, progress });
  progress.close();
  const engine = { ...engineEnvironment(endpoint), ...mountsEnvironment(mountsProgram) };
  const { benchLayerExecs } = await import('./layer-execs.mjs');
  const results = await benchLayerExecs({ env: { ...env, ...engine }, runs });
  const p50 = (/** @type {string} */ name) => results.find((each) => each.name === name)?.p50 ?? Number.NaN;
  const skillToProject = ratio(p50('layered skill'), p50('project'));
  process.stdout.write(
    `${tableOf(results)}\nlayered skill: ${skillToProject} times the same exec in a project (p50)\n`,
  );
  return { runs, results, skill_to_project: skillToProject };
}

/**
 * @typedef {object} Work
 * @property {SkillLayers} layers
 * @property {string} root
 * @property {string} product
 * @property {number} runs
 * @property {(user: string, skill: string, agent?: string) => SkillPlace} at
 */

/** @param {() => Promise<unknown> | void} work */
async function timed(work) {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** @param {Work} work */
async function measureFirstTouch({ layers, root, product, runs, at }) {
  const archive = path.join(root, 'skills.zip');
  const folder = path.join(root, 'skills');
  makeSkills(folder, SKILLS, FILES);
  makeZip(folder, archive);
  await layers.upload(at('author', 'x'), archive, { archiveName: 'skills.zip', scope: 'baseline' });
  /** @type {number[]} */
  const touches = [];
  /** @type {number[]} */
  const copies = [];
  execFileSync('sync');
  for (let n = 0; n < runs; n += 1) touches.push(await timed(() => layers.statuses(at(`user${n}`, 'x'))));
  // Not in turns: what a copy leaves to be written would be waited for by whoever comes next.
  for (let n = 0; n < COPIES; n += 1) {
    const copy = path.join(root, `copy${n}`);
    copies.push(await timed(() => cpSync(folder, copy, { recursive: true })));
    rmSync(copy, { recursive: true });
  }
  const pins = path.join(product, 'skill/overlay/user0/agent/.meta/pins.json');
  const found = execFileSync(
    'find',
    [path.join(product, 'skill/overlay/user0'), '-type', 'f', '-size', '+0'],
    {
      encoding: 'utf8',
    },
  );
  if (found.trim() !== pins) throw new Error(`The first touch wrote more than pins: ${found}`);
  const results = [summarize('first touch', touches), summarize('full copy', copies)];
  return { results, bytes: statSync(pins).size };
}

/** @param {Work} work */
async function measureStatus({ layers, runs, at }) {
  /** @type {number[]} */
  const times = [];
  for (let n = 0; n < runs; n += 1) {
    times.push(
      await timed(async () => {
        const { size } = await layers.statuses(at('user0', 'x'));
        if (size !== SKILLS) throw new Error(`There are ${size} skills.`);
      }),
    );
  }
  return summarize('status of 200', times);
}

/**
 * What users call to see it.
 *
 * @param {Work} work
 */
async function measureSkillList({ layers, runs, at }) {
  const user = at('user0', 'x');
  await layers.list(user);
  /** @type {number[]} */
  const times = [];
  for (let n = 0; n < runs; n += 1) {
    times.push(
      await timed(async () => {
        const { length } = await layers.list(user);
        if (length !== SKILLS) throw new Error(`There are ${length} skills.`);
      }),
    );
  }
  return summarize('list of 200', times);
}

/** @param {Work} work */
async function measureList({ layers, root, runs, at }) {
  const folder = path.join(root, 'many');
  const archive = path.join(root, 'many.zip');
  makeSkills(folder, 1, 10_000);
  makeZip(folder, archive);
  const place = at('lister', 'skill0', 'many');
  await layers.upload(place, archive, { archiveName: 'many.zip', scope: 'baseline' });
  /** @type {number[]} */
  const times = [];
  for (let n = 0; n < runs; n += 1) {
    // A change each time, so that nothing is answered from memory.
    await layers.editFile(place, 'mine.txt', `${n}`);
    times.push(
      await timed(async () => {
        const { length } = await layers.files(place);
        if (length !== 10_001) throw new Error(`There are ${length} files.`);
      }),
    );
  }
  return summarize('list of 10,000', times);
}

/** @param {Work} work */
async function measureEdit({ layers, root, runs, at }) {
  const folder = path.join(root, 'edited');
  const archive = path.join(root, 'edited.zip');
  makeSkills(folder, 1, FILES);
  writeFileSync(path.join(folder, 'skill0', 'big.txt'), bigFile(1024 ** 2));
  makeZip(folder, archive);
  await layers.upload(at('author', 'x', 'edited'), archive, { archiveName: 'edited.zip', scope: 'baseline' });
  // An edit waits for the disk, and would for what the measurements before it have left to be written.
  execFileSync('sync');
  /** @type {number[]} */
  const times = [];
  for (let n = 0; n < runs * 3; n += 1) {
    const place = at(`editor${n}`, 'skill0', 'edited');
    await layers.statuses(place);
    times.push(await timed(() => layers.editFile(place, 'big.txt', 'changed', { start: 5_000, end: 5_000 })));
    const { lines } = await layers.readLines(place, 'big.txt', { start: 4_999, end: 5_001 });
    if (lines.join() !== [TEXT_LINE, 'changed', TEXT_LINE].join()) throw new Error('The edit went astray.');
  }
  return summarize('edit of 1 MB', times);
}

/** @param {Work} work */
async function measureUpload({ layers, root, runs, at }) {
  const folder = path.join(root, 'large');
  const archive = path.join(root, 'large.zip');
  makeSkills(folder, 1, 2_000, ARCHIVED_FILE_BYTES);
  makeZip(folder, archive);
  const { size } = statSync(archive);
  if (size < ARCHIVE_BYTES) throw new Error(`The archive has only ${size} bytes.`);
  /** @type {number[]} */
  const uploads = [];
  /** @type {number[]} */
  const unzips = [];
  for (let n = 0; n < Math.min(runs, UPLOADS); n += 1) {
    // Removed at the end only: whoever makes files after many were removed pays for that on some file systems.
    const out = path.join(root, `out${n}`);
    // Ours reaches the disk before it is told, and with it all that others have left to be written: there is nothing.
    execFileSync('sync');
    unzips.push(await timed(() => void execFileSync('unzip', ['-q', archive, '-d', out])));
    execFileSync('sync');
    const place = at(`uploader${n}`, 'skill0', 'large');
    uploads.push(
      await timed(async () => {
        await layers.upload(place, archive, { archiveName: 'large.zip', scope: 'overlay' });
      }),
    );
  }
  return [summarize('upload', uploads), summarize('unzip', unzips)];
}
