import { tmpdir } from 'node:os';
import { demultiplex } from '../../packages/container-engine/src/demultiplex.js';
import { EngineClient } from './engine-client.js';

const repository = new URL('../../', import.meta.url).pathname;

/**
 * Runs a script where the image's own init is compiled, so that no compiler is needed on this machine.
 * It sees the sources in /src/init and these tests in /src/tests, and may write to /out.
 */
export async function runInCompiler(
  script: string,
): Promise<{ readonly exitCode: number; readonly output: string }> {
  const engine = new EngineClient();
  const mount = (from: string, to: string) => ({
    Type: 'bind',
    Source: `${repository}${from}`,
    Target: to,
    ReadOnly: true,
  });
  const { Id: id } = (await engine.call('POST', '/containers/create', {
    Image: 'secbox/sandbox-compiler:latest',
    Entrypoint: [],
    // One stream: the order of two is not kept.
    Cmd: ['sh', '-euc', `exec 2>&1\n${script}`],
    Labels: { secbox: 'test', 'secbox.data_dir': tmpdir() },
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: {
      NetworkMode: 'none',
      Mounts: [mount('docker/sandbox', '/src'), mount('tests/init', '/tests')],
      Tmpfs: { '/out': 'rw,exec' },
      LogConfig: { Type: 'none', Config: {} },
    },
  })) as { Id: string };
  try {
    const stream = await engine.attach(id);
    await engine.call('POST', `/containers/${id}/start`);
    const parts: Buffer[] = [];
    for await (const { data } of demultiplex(stream as AsyncIterable<Buffer>)) parts.push(Buffer.from(data));
    const { StatusCode: exitCode } = (await engine.call('POST', `/containers/${id}/wait`)) as {
      StatusCode: number;
    };
    return { exitCode, output: Buffer.concat(parts).toString() };
  } finally {
    await engine.remove(id);
  }
}
