import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  makeFolder,
  Model,
  type ModelTree,
  Refused,
  remove,
  write,
} from '../../packages/skill-layers/src/testing/model.js';
import type { SkillPlace } from '@secbox/skill-layers';
import { pooled } from '../pool/pooled.js';
import { at, startLayeredService, type LayeredService } from './layered-service.js';

const users = ['u1', 'u2', 'u3'] as const;
const begun = { 'SKILL.md': '# S\n', a: '1\n', 'd/x': 'x\n', 'd/e/z': 'z\n' };
const path = fc.constantFrom('a', 'b', 'd', 'd/x', 'd/y', 'd/e', 'd/e/z');
const content = fc.constantFrom('', '1\n', '2\n');
const user = fc.constantFrom(...users);
const step = fc.oneof(
  fc.record({ do: fc.constant('write' as const), path, content }),
  fc.record({ do: fc.constant('remove' as const), path }),
  fc.record({ do: fc.constant('mkdir' as const), path }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const operation = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant('execute' as const),
      user,
      steps: fc.array(step, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('edit' as const), user, path, content }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('delete' as const), user, path }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('baseline' as const), user, force: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('sync' as const),
      user,
      keep: fc.constantFrom('mine' as const, 'theirs' as const),
    }),
  },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** What a step cannot do, it leaves; the others are done. */
const program = `
import json, os, shutil, sys
for step in json.loads(sys.argv[1]):
    try:
        if step['do'] == 'remove':
            (shutil.rmtree if os.path.isdir(step['path']) else os.remove)(step['path'])
        elif step['do'] == 'mkdir':
            os.makedirs(step['path'], exist_ok=True)
        else:
            os.makedirs(os.path.dirname(step['path']) or '.', exist_ok=True)
            open(step['path'], 'w').write(step['content'])
    except OSError:
        pass
`;

function done(tree: ModelTree, step: Step): ModelTree {
  try {
    if (step.do === 'remove') return remove(tree, step.path);
    if (step.do === 'mkdir') return makeFolder(tree, step.path);
    return write(tree, step.path, step.content);
  } catch (error) {
    if (error instanceof Refused) return tree;
    throw error;
  }
}

/** Users with real containers, over the API. They are new in each run: a user is pinned to all skills at first sight. */
class Run {
  readonly #model = new Model();

  constructor(
    readonly service: LayeredService,
    readonly skill: string,
  ) {
    const files = new Map(Object.entries(begun));
    this.#model.publish(skill, { files, folders: new Set(['d', 'd/e']) });
  }

  async one(operation: Operation): Promise<void> {
    const { skill } = this;
    switch (operation.op) {
      case 'execute': {
        const { user, steps } = operation;
        const args = ['-c', program, JSON.stringify(steps)];
        const { http, body } = await this.service.execute(this.#at(user), 'python3', args);
        expect([http, body.data.exit_code, body.data.effects?.kept]).toEqual([200, 0, true]);
        this.#model.change(user, skill, (tree) => steps.reduce(done, tree));
        return;
      }
      case 'edit': {
        const { user, path, content } = operation;
        const url = `${this.#url(user)}/edit?path=${encodeURIComponent(path)}`;
        const put = { method: 'PUT', headers: { 'content-type': 'text/plain' }, body: content };
        return this.#both(fetch(url, put), () =>
          this.#model.change(user, skill, (tree) => write(tree, path, content), true),
        );
      }
      case 'delete': {
        const { user, path } = operation;
        const url = `${this.#url(user)}/file?path=${encodeURIComponent(path)}`;
        return this.#both(fetch(url, { method: 'DELETE' }), () =>
          this.#model.change(user, skill, (tree) => remove(tree, path)),
        );
      }
      case 'baseline': {
        const { user, force } = operation;
        return this.#both(fetch(`${this.#url(user)}/baseline?force=${force}`, { method: 'POST' }), () =>
          this.#model.baseline(user, skill, force),
        );
      }
      case 'sync': {
        const { user, keep } = operation;
        return this.#both(fetch(`${this.#url(user)}/sync?keep=${keep}`, { method: 'POST' }), () => {
          this.#model.sync(user, skill, keep);
        });
      }
    }
  }

  /** Each user sees what the model says, from outside and from inside. */
  async compare(): Promise<void> {
    for (const user of users) {
      const wanted = Object.fromEntries(this.#model.tree(user, this.skill).files);
      const listed = (await (await fetch(`${this.#url(user)}/files`)).json()) as { data: string[] };
      expect(listed.data.sort()).toEqual(Object.keys(wanted).sort());
      const seen = await this.service.execute(this.#at(user), 'python3', [
        '-c',
        'import json, os\nprint(json.dumps({os.path.join(top, name)[2:]: open(os.path.join(top, name)).read() for top, _, names in os.walk(".") for name in names}))',
      ]);
      expect(JSON.parse(seen.body.data.stdout)).toEqual(wanted);
      const status = (await (await fetch(`${this.#url(user)}/status`)).json()) as {
        data: { status: string };
      };
      expect(status.data.status).toBe(this.#model.status(user, this.skill));
    }
  }

  async #both(answer: Promise<Response>, model: () => void): Promise<void> {
    let code: string | undefined;
    try {
      model();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      code = error.code;
    }
    const body = (await (await answer).json()) as { status: string; data: { code?: string } };
    expect(body.status === 'error' ? body.data.code : undefined).toBe(code);
  }

  #at(user: string): SkillPlace {
    return at(`${user}-of-${this.skill}`, this.skill);
  }

  #url(user: string): string {
    const { userId, agentId, skillId } = this.#at(user);
    return `${this.service.url}/v1/skills/${userId}/${agentId}/${skillId}`;
  }
}

function describeModel(
  road: 'overlay' | 'copy',
  runs: number,
  environment: () => Record<string, string>,
): void {
  describe(`with real containers: ${road}`, () => {
    let service: LayeredService;
    const skills = Array.from({ length: runs * 8 }, (_, n) => `s${n}`);
    beforeAll(async () => {
      const each = Object.fromEntries(skills.map((name) => [name, begun]));
      service = await startLayeredService(each, environment());
    }, 60_000);
    afterAll(() => service.close());

    test('any sequence of execs, edits, syncs and baselinings is as the model has it', async () => {
      let next = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { minLength: 4, maxLength: 12 }), async (operations) => {
          const skill = skills[next];
          // What failed is made smaller for as long as there are skills that nobody touched.
          fc.pre(skill !== undefined);
          next += 1;
          const run = new Run(service, skill);
          const versions = new Map<string, string>();
          for (const each of operations) {
            await run.one(each);
            for (const [version, hash] of versionsOf(service.product, skill)) {
              expect(versions.get(version) ?? hash).toBe(hash);
              versions.set(version, hash);
            }
          }
          await run.compare();
        }),
        { numRuns: runs, interruptAfterTimeLimit: 200_000 },
      );
      expect(next).toBeGreaterThan(0);
    }, 240_000);
  });
}

/** Every version of the baseline with the hash of all that is in it. */
function versionsOf(product: string, skill: string): [string, string][] {
  const folder = join(product, 'skill', 'baseline', 'agent001', skill);
  const hashed = 'find . -type f | sort | xargs -r sha256sum | sha256sum';
  return readdirSync(folder)
    .filter((name) => /^[0-9a-f]{64}$/.test(name))
    .map((name) => [name, execFileSync('sh', ['-c', hashed], { cwd: join(folder, name) }).toString()]);
}

describeModel('overlay', 6, () => pooled(2));
describeModel('copy', 3, () => ({}));
