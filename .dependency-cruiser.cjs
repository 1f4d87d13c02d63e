/**
 * The direction of imports, as an error. Layers are those of ARCHITECTURE.md;
 * a package may import its own layer's neighbours below it and nothing above.
 */
const layers = [
  ['contracts', 'logging', 'metrics'],
  ['policy', 'workspace', 'skill-manifest', 'skill-archive', 'command-guard', 'risk'],
  ['container-engine', 'database', 'access', 'skill-layers', 'approvals', 'host-mounts'],
  ['exec-runner', 'audit', 'retention', 'sessions', 'skills', 'run-code'],
  ['mcp-skills', 'client'],
];

const inPackages = (names) => `^packages/(${names.join('|')})/`;
const test = '\\.(test|contract)\\.ts$';

const noUpwardImports = layers.slice(0, -1).map((names, level) => ({
  name: `no-upward-import-from-L${level}`,
  severity: 'error',
  comment: 'Imports point only downwards.',
  from: { path: inPackages(names) },
  to: { path: [...layers.slice(level + 1).map(inPackages), '^apps/'] },
}));

const onlyIn = (library, owners) => ({
  name: `${library}-only-in-its-package`,
  severity: 'error',
  comment: `Only ${owners} may import ${library}: everything else speaks our own language.`,
  from: { path: '^(apps|packages|migrations)/', pathNot: owners },
  to: { path: `node_modules/(@types/)?(${library})/` },
});

module.exports = {
  forbidden: [
    ...noUpwardImports,
    {
      name: 'packages-do-not-import-apps',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^apps/' },
    },
    {
      name: 'through-the-front-door',
      severity: 'error',
      comment: "A package is imported by its name, never by a path into another's sources.",
      from: { path: '^(?:apps|packages)/([^/]+)/' },
      to: {
        path: '^(?:apps|packages)/([^/]+)/src/',
        pathNot: '^(?:apps|packages)/($1/|[^/]+/src/index\\.ts$)',
      },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-test-code-in-sources',
      severity: 'error',
      from: { path: '^(apps|packages|migrations)/', pathNot: [test, '/testing/'] },
      to: { path: [test, '/testing/', '^tests/', 'node_modules/(@jest|jest|supertest|fast-check)/'] },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'declared-dependencies-only',
      severity: 'error',
      from: { path: '^(apps|packages|migrations)/', pathNot: [test, '/testing/'] },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'], pathNot: 'node_modules/@types/' },
    },
    onlyIn('dockerode', '^packages/container-engine/'),
    onlyIn('kysely|better-sqlite3', '^(packages/database|migrations)/'),
    onlyIn('unzipper|iconv-lite|yaml', '^packages/skill-archive/'),
    onlyIn('diff', '^packages/skill-layers/'),
    onlyIn('express|multer|helmet', '^apps/'),
    onlyIn('ws', '^apps/'),
    onlyIn('yazl', '^(packages/audit|apps/cli)/'),
    onlyIn('@modelcontextprotocol/sdk', '^(packages/mcp-skills|apps)/'),
    onlyIn('winston', '^packages/logging/'),
    onlyIn('prom-client', '^packages/metrics/'),
    onlyIn('web-tree-sitter|tree-sitter-[a-z]+', '^packages/risk/'),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@secbox/source', 'import', 'types', 'node', 'default'],
      extensions: ['.ts', '.js', '.mjs'],
    },
  },
};
