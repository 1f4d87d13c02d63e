import { remembered } from '../values/remembered.js';

const folders = new Set(['/bin', '/sbin', '/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin']);

/** Whether a program of a known name is the known one: found by its name, or in a folder of the system's. */
export const isKnownPlace = remembered((program) => {
  const end = program.lastIndexOf('/');
  if (end < 0) return true;
  const parts: string[] = [];
  for (const part of program.slice(0, end).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return program.startsWith('/') && folders.has(`/${parts.join('/')}`);
});
