import { Writable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { createProgress } from '../../docker/setup/progress.mjs';

function screen(isTTY: boolean, env: NodeJS.ProcessEnv = {}) {
  const parts: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      parts.push(chunk.toString());
      done();
    },
  });
  const progress = createProgress({ stream: Object.assign(stream, { isTTY, columns: 60 }) as never, env });
  return { progress, text: () => parts.join('') };
}

describe('progress', () => {
  test('is plain lines where there is no terminal, one per kind of work', () => {
    const { progress, text } = screen(false);
    const step = progress.step('image');
    step.say('pulling: 1 MB');
    step.say('pulling: 2 MB');
    step.say('building');
    step.done('built');
    progress.close();
    expect(text()).toMatch(
      /^ {2}image {5}pulling: 1 MB\n {2}image {5}building\n\* image {5}built \(0\.\d s\)\n$/,
    );
  });

  test('is live on a terminal: what runs is drawn again below what is done', () => {
    const { progress, text } = screen(true);
    const packages = progress.step('packages');
    packages.say('installing: 3 of 9');
    progress.step('engine').done('found');
    expect(text()).toContain('\u001b[32m✔\u001b[0m engine    found');
    expect(text()).toContain('packages  installing: 3 of 9');
    progress.close();
    expect(text().endsWith('\u001b[1A\u001b[J')).toBe(true);
  });

  test('has no colours with NO_COLOR, and is plain on a dumb terminal', () => {
    const quiet = screen(true, { NO_COLOR: '1' });
    quiet.progress.step('engine').done('found');
    quiet.progress.close();
    expect(quiet.text().replaceAll('\u001b[1A\u001b[J', '')).not.toContain('\u001b');
    const dumb = screen(true, { TERM: 'dumb' });
    dumb.progress.step('engine').failed();
    dumb.progress.close();
    expect(dumb.text()).toMatch(/^! engine {4}failed \(0\.\d s\)\n$/);
  });

  test('cuts lines that are longer than the terminal is wide', () => {
    const { progress, text } = screen(true, { NO_COLOR: '1' });
    progress.step('image').say('x'.repeat(200));
    progress.note('drawn');
    const drawn = text()
      .split('\n')
      .filter((line) => line.includes('xxx'));
    expect(drawn.length).toBeGreaterThan(0);
    for (const line of drawn) expect(line.length).toBeLessThan(60);
    progress.close();
  });

  test('knows how long each step took', () => {
    const { progress } = screen(false);
    progress.step('engine').done('found');
    expect(progress.finished()).toEqual([{ name: 'engine', seconds: expect.any(Number) }]);
  });
});
