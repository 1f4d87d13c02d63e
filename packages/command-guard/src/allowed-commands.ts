/** Every command of the v1 API; the container decides what they can do. */
export const allowedCommands = [
  'python3',
  'pip',
  'pip3',
  'bash',
  'sh',
  'ls',
  'cat',
  'grep',
  'sed',
  'awk',
  'echo',
  'cp',
  'mv',
  'rm',
  'mkdir',
  'find',
  'curl',
] as const;

export type AllowedCommand = (typeof allowedCommands)[number];

export function isAllowedCommand(name: string): name is AllowedCommand {
  return (allowedCommands as readonly string[]).includes(name);
}
