import { availableParallelism } from 'node:os';

const tops = ['apps', 'packages', 'migrations', 'tests'];

/** One project per layer of tests; `npm run test:<layer>` runs one of them. */
const layer = (displayName, testMatch, more = {}) => ({
  displayName,
  // Not the data folder, which holds whole image file systems.
  roots: tops.map((top) => `<rootDir>/${top}`),
  testMatch: testMatch.flatMap((glob) => tops.map((top) => `<rootDir>/${top}/**/${glob}`)),
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  modulePathIgnorePatterns: ['/dist/'],
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['@secbox/source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  ...more,
});

export default {
  // Real engines on busy machines: a limit that only something that hangs will meet.
  testTimeout: 120_000,
  // Tests wait for an engine most of the time, so that two cores are enough for two.
  maxWorkers: Math.max(2, Math.floor(availableParallelism() / 2)),
  // Modules of a file are never let go of: a process that has run many is given up before it is busy with its memory.
  workerIdleMemoryLimit: '700MB',
  // The folder for temporary files is a run's own; what was transformed, and how long each file takes, is worth keeping.
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  projects: [
    layer('unit', ['*.test.ts'], {
      testPathIgnorePatterns: ['/node_modules/', '/dist/', '\\.(contract|http|docker)\\.test\\.ts$'],
    }),
    layer('contract', ['*.contract.test.ts']),
    layer('http', ['*.http.test.ts']),
    layer('docker', ['*.docker.test.ts']),
  ],
};
