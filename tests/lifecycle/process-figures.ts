import { readdir, readFile, readlink, writeFile } from 'node:fs/promises';

/** What the kernel says a process has in memory now, and had at most since the last {@link forgetPeak}. */
export async function residentBytes(pid: number): Promise<{ readonly now: number; readonly peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const figure = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024;
  return { now: figure('VmRSS'), peak: figure('VmHWM') };
}

export async function forgetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5');
}

/** What its descriptors lead to, one entry each. */
export async function openDescriptors(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const targets = (await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => undefined));
  return (await Promise.all(targets)).filter((target) => target !== undefined).sort();
}
