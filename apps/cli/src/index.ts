export { commands } from './commands.js';
export type { Command, CommandOption } from './command.js';
export { exitMeanings } from './exit-codes.js';
