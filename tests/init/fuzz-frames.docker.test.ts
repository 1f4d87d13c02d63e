import { describe, expect, test } from '@jest/globals';
import { runInCompiler } from './compiler.js';

const warnings = '-Wall -Wextra -Werror';
const sanitizers = '-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all';

describe('the sources of the init', () => {
  test('compile without a warning, and refuse to be anything but PID 1', async () => {
    const { exitCode, output } = await runInCompiler(`
      gcc -static -O2 ${warnings} -o /out/secbox-init /src/init/*.c
      /out/secbox-init || echo "ended with $?"
    `);
    // Its sweep would end the other processes of whatever it is not the first of.
    expect([exitCode, output]).toEqual([0, 'secbox-init: must be PID 1\nended with 64\n']);
  });

  test('of what is loaded into python compile without a warning, for the python of the image', async () => {
    const { exitCode, output } = await runInCompiler(`
      include=$(python -c 'import sysconfig; print(sysconfig.get_path("include"))')
      gcc -shared -fPIC -O2 ${warnings} -I$include -I/src/init -o /out/ahead.so /src/python-ahead/*.c /src/init/request.c
    `);
    expect([exitCode, output]).toEqual([0, '']);
  });

  test('survive 300,000 conversations that are nearly right, under the sanitizers', async () => {
    const { exitCode, output } = await runInCompiler(`
      gcc ${sanitizers} ${warnings} -I/src/init -o /out/fuzz /tests/fuzz-frames.c /src/init/inbox.c /src/init/request.c /src/init/ahead.c
      for seed in 1 2 3; do env -i /out/fuzz 100000 $seed; done
    `);
    expect([exitCode, output]).toEqual([0, expect.any(String)]);
    const runs = output.trim().split('\n');
    expect(runs).toHaveLength(3);
    for (const run of runs) {
      const [, requests, , kills, faults, fitting] = run.match(/\d+/g)?.map(Number) ?? [];
      // It came past the first gate often enough to mean something.
      expect(Math.min(requests ?? 0, kills ?? 0, faults ?? 0, fitting ?? 0)).toBeGreaterThan(1000);
    }
  });
});
