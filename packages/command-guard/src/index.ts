export { allowedCommands, type AllowedCommand } from './allowed-commands.js';
export { cleanEnvironment } from './clean-environment.js';
export { workFolder, type CommandPlace } from './command-place.js';
export { guardCommand, type GuardedCommand } from './guard-command.js';
export { refuseProtected } from './skill-file.js';
