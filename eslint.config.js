import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** Only these read the environment; everything else is handed a frozen config. */
const environmentReaders = ['apps/*/src/main.ts', 'docker/setup/**', 'tests/**', 'bench/**'];

export default tseslint.config(
  { ignores: ['**/dist/**', '**/node_modules/**', 'data/**', 'coverage/**'] },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['*.js', '*.cjs', 'apps/cli/secbox.mjs'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      'max-lines': ['error', { max: 400, skipBlankLines: false, skipComments: false }],
      eqeqeq: 'error',
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only main.ts reads the environment.' },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: "Program > VariableDeclaration[kind='let']", message: 'No module-level state.' },
        {
          selector: "Program > ExportNamedDeclaration > VariableDeclaration[kind='let']",
          message: 'No module-level state.',
        },
        { selector: 'ExportAllDeclaration', message: 'Name what you export.' },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // Taking a key out of an object is what rest properties are for.
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    },
  },
  {
    // A test file's own set-up is state of that file: jest gives each a module registry of its own.
    files: ['**/*.test.ts', '**/*.contract.ts'],
    rules: { 'max-lines': ['error', 600], 'no-restricted-syntax': 'off' },
  },
  // The compiler checks these files too, and knows what Node defines.
  { files: ['docker/setup/**', 'tests/**', 'bench/**'], rules: { 'no-undef': 'off' } },
  { files: environmentReaders, rules: { 'no-restricted-properties': 'off' } },
  {
    files: ['*.js', '*.cjs', 'apps/cli/secbox.mjs'],
    ...tseslint.configs.disableTypeChecked,
    languageOptions: { globals: { module: 'writable' } },
  },
);
