import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { defaultTenant, newExecId, parseProjectId } from '@secbox/contracts';
import { createPathAdapter, sandboxOwner, Workspace } from '@secbox/workspace';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ContainerEngineSuite } from './container-engine.contract.js';
import type { Attachment, ContainerSpec } from './container-engine.js';
import { initPath, offersPrestart } from './init-image.js';
import { InitSession } from './init/init-session.js';

/** A container that has something up before its request is there, over every adapter, on a real engine. */
export function describePrestart(name: string, suite: ContainerEngineSuite): void {
  describe(`a container of ${name} that starts something ahead`, () => {
    jest.setTimeout(120_000);
    const engine = suite.makeEngine(suite.dockerHost);
    let dataDir: string;

    beforeEach(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'secbox-prestart-'));
    });

    afterEach(async () => {
      for (const { id } of await engine.listOwned(dataDir)) await engine.remove(id);
      await rm(dataDir, { recursive: true });
    });

    async function specOf(changes: Partial<ContainerSpec>): Promise<ContainerSpec> {
      const image = await engine.findImage(suite.imageReference);
      if (!image) throw new Error(`The engine does not have ${suite.imageReference}; run "npm run image".`);
      expect(offersPrestart(image, 'python')).toBe(true);
      const execId = newExecId();
      const workspace = await Workspace.open({
        paths: createPathAdapter({ mode: 'linux', roots: { workspace_root: join(dataDir, 'workspace') } }),
        ...(process.getuid?.() === 0 ? { owner: sandboxOwner } : {}),
      });
      const place = { tenant: defaultTenant, projectId: parseProjectId('project'), execId };
      const { mounts } = workspace.prepare(place);
      return {
        imageId: image.id,
        runtime: 'runc',
        command: [initPath],
        environment: {},
        workingDirectory: '/workspace/work',
        mounts,
        memoryBytes: 256 * 1024 ** 2,
        cpus: 1,
        pids: 64,
        readOnlyRoot: true,
        maxFileBytes: 64 * 1024 ** 2,
        owner: { purpose: 'exec', execId, dataDir },
        ...changes,
      };
    }

    test.each([
      ['python', true, 'ahead'],
      [undefined, false, 'plain'],
    ] as const)(
      'told to start %s ahead: warm is %p, and its request starts %s',
      async (prestart, warm, how) => {
        const id = await engine.create(await specOf(prestart === undefined ? {} : { prestart }));
        const attachment = await engine.attach(id);
        await engine.start(id);
        const session = new InitSession({
          output: stdoutOf(attachment),
          write: (bytes) =>
            new Promise((resolve, reject) => {
              attachment.input.write(bytes, (error) => {
                if (error) reject(error);
                else resolve();
              });
            }),
          close: () => attachment.input.end(),
        });
        expect(await session.warm()).toBe(warm);
        const told: string[] = [];
        const image = await engine.findImage(suite.imageReference);
        const outcome = await session.run(
          { argv: ['python', '-c', 'print(6 * 7)'], cwd: '/workspace/work', env: image?.environment ?? {} },
          {
            started: (_pid, start) => told.push(start),
            stdout: (data) => void told.push(data.toString()),
            stderr: (data) => void told.push(data.toString()),
          },
        );
        expect(outcome).toMatchObject({
          kind: 'ended',
          exit: { end: { kind: 'exited', code: 0 }, alone: true },
        });
        expect(told).toEqual([how, '42\n']);
        attachment.close();
      },
    );

    test('is not made for a program that is not the init', async () => {
      await expect(engine.create(await specOf({ command: ['python3'], prestart: 'python' }))).rejects.toThrow(
        'Only the init',
      );
      expect(await engine.listOwned(dataDir)).toEqual([]);
    });
  });
}

async function* stdoutOf({ output }: Attachment): AsyncGenerator<Buffer> {
  for await (const { stream, data } of output) if (stream === 'stdout') yield data;
}
