import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createLogger } from '../packages/logging/dist/index.js';
import { SkillRegistry } from '../packages/skill-manifest/dist/index.js';
import { summarize } from './summary.mjs';

/**
 * How long a folder of skills takes to load, and one that changed to be there anew: by a call that names it, and
 * from the write to the swap, which is what an author waits.
 *
 * @param {{ skills: number, runs: number }} options
 */
export async function benchRegistry({ skills, runs }) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'secbox-skills-'));
  // A registry keeps no process from ending.
  const stayAlive = setInterval(() => undefined, 1000);
  try {
    for (let index = 0; index < skills; index += 1) writeSkill(folder, index, 'first');
    const options = {
      folder,
      images: ['sandbox'],
      limits: () => ({ engine: undefined }),
      logger: createLogger({ level: 'error', format: 'json', destination: process.stderr }),
    };
    /** @type {number[]} */
    const loads = [];
    for (let run = 0; run < 5; run += 1) {
      const start = performance.now();
      const registry = await SkillRegistry.open(options);
      loads.push(performance.now() - start);
      const valid = [...registry.snapshot.skills.values()].filter((skill) => skill.valid).length;
      if (valid !== skills) throw new Error(`only ${valid} of ${skills} skills are valid`);
      await registry.close();
    }
    const registry = await SkillRegistry.open(options);
    /** @type {number[]} */
    const reloads = [];
    /** @type {number[]} */
    const seen = [];
    for (let run = 0; run < runs; run += 1) {
      const index = run % skills;
      const changed = new Promise((resolve) => {
        const stop = registry.onChange(() => {
          stop();
          resolve(undefined);
        });
      });
      const written = performance.now();
      writeSkill(folder, index, `run ${run}`);
      await changed;
      seen.push(performance.now() - written);
      const start = performance.now();
      await registry.reload([idOf(index)]);
      reloads.push(performance.now() - start);
    }
    await registry.close();
    return [
      summarize(`load ${skills}`, loads),
      summarize('reload one', reloads),
      summarize('write to swap', seen),
    ];
  } finally {
    clearInterval(stayAlive);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {number} index */
function idOf(index) {
  return `bench.skill${index}`;
}

/**
 * @param {string} folder
 * @param {number} index
 * @param {string} text
 */
function writeSkill(folder, index, text) {
  const id = idOf(index);
  const own = path.join(folder, id);
  const manifest = {
    schema_version: 1,
    id,
    name: `Skill ${index}`,
    description: text,
    interface: {
      inputs: {
        type: 'object',
        additionalProperties: false,
        required: ['text'],
        properties: {
          text: { type: 'string', maxLength: 100 + index },
          file: { 'x-secbox': 'file' },
          [`option${index}`]: { enum: ['a', 'b'] },
        },
      },
      outputs: { type: 'object', properties: { lines: { type: 'array', items: { type: 'string' } } } },
    },
    runtime: { kind: 'docker', image: 'sandbox', entrypoint: ['python', './main.py'] },
    permissions: { fs: { read: ['inputs/**'], write: ['artifacts/**'] }, net: { mode: 'none' } },
    limits: { timeout_ms: 10_000, memory_mb: 128 },
  };
  mkdirSync(path.join(own, 'tests'), { recursive: true });
  writeFileSync(path.join(own, 'main.py'), `print(${index})\n`.repeat(100));
  writeFileSync(path.join(own, 'README.md'), `# ${id}\n`);
  writeFileSync(path.join(own, 'tests', 'cases.json'), '[]\n');
  writeFileSync(path.join(own, 'manifest.json'), JSON.stringify(manifest, null, 2));
}
