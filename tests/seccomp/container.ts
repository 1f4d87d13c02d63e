import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import type { Profile } from './profile.js';

const image = 'secbox/sandbox:latest';
const scratch = 'rw,exec,nosuid,nodev,size=134217728';

/** Runs a python program of this folder in a hardened container; what it prints is its result, in JSON. */
export async function runInContainer(program: string, profile: Profile): Promise<unknown> {
  const engine = new EngineApi({ host: process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock' });
  const { Id: id } = (await engine.call('POST', '/containers/create', {
    json: configOf(readFileSync(new URL(program, import.meta.url), 'utf8'), profile),
  })) as { Id: string };
  try {
    await engine.call('POST', `/containers/${id}/start`);
    await engine.call('POST', `/containers/${id}/wait`);
    return await engine.call('GET', `/containers/${id}/logs`, { query: { stdout: '1', stderr: '1' } });
  } finally {
    await engine.call('DELETE', `/containers/${id}`, { query: { force: '1', v: '1' } });
  }
}

function configOf(script: string, profile: Profile): unknown {
  return {
    Image: image,
    Entrypoint: [],
    Cmd: ['python3', '-c', script],
    User: '1000:1000',
    Labels: { secbox: 'test', 'secbox.data_dir': tmpdir() },
    // The log of a container with a terminal is the plain text, without frames.
    Tty: true,
    HostConfig: {
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges', `seccomp=${JSON.stringify(profile)}`],
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': `${scratch},mode=1777`, '/home/sandbox': `${scratch},uid=1000,gid=1000,mode=0700` },
      Memory: 512 * 1024 * 1024,
      MemorySwap: 512 * 1024 * 1024,
      PidsLimit: 256,
      Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
      LogConfig: { Type: 'json-file', Config: {} },
    },
  };
}
