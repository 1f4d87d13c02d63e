export { CodeRunner, type CodeRunnerOptions } from './code-runner.js';
