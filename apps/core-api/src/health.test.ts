import { expect, test } from '@jest/globals';
import { withoutParticulars, type Health } from './health.js';

const disk = { free_bytes: 1, total_bytes: 2, min_free_bytes: 1 };
const health = {
  status: 'degraded',
  problems: [
    "workspace: EACCES: permission denied, access '/srv/my data/workspace'",
    "database: The database '/srv/my data/secbox.db' cannot be written: database is locked.",
    'account: 1 containers with our label were started that no row accounts for.',
  ],
  warnings: [
    'image: secbox/sandbox:latest has no init of ours: no container waits, and exec.env is refused.',
  ],
  workspace_root_native: '/srv/my data/workspace',
  docker_cli_path: 'C:\\Program Files\\docker.exe',
  docker_host: 'unix:///run/my docker/docker.sock',
  image: { reference: 'registry.example:5000/secbox/sandbox:latest', id: 'sha256:0' },
  disk,
  account: {
    listening: true,
    started: 7,
    unaccounted_total: 1,
    unaccounted: [{ container: 'c', exec_id: 'e', started_at: null, why: 'there is no row of its exec' }],
  },
} as unknown as Health;

test('for everyone there are counts and no places on the host', () => {
  expect(withoutParticulars(health)).toEqual({
    ...health,
    problems: [
      'workspace: EACCES: permission denied, access …',
      'database: The database … cannot be written: database is locked.',
      health.problems[2],
    ],
    workspace_root_native: '…',
    docker_cli_path: '…',
    docker_host: 'unix:…',
    account: { ...health.account, unaccounted: [] },
  });
});
