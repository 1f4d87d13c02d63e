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
  projects: [
    layer('unit', ['*.test.ts'], {
      testPathIgnorePatterns: ['/node_modules/', '/dist/', '\\.(contract|http|docker)\\.test\\.ts$'],
    }),
    layer('contract', ['*.contract.test.ts']),
    layer('http', ['*.http.test.ts']),
    layer('docker', ['*.docker.test.ts']),
  ],
};
