import fc from 'fast-check';

export const users = ['u1', 'u2', 'u3'] as const;
export const skills = ['s', '技能 二'] as const;
const paths = ['a', 'b', 'd', 'd/x', 'd/y', 'd/e/z', 'd/e', 'SKILL.md'] as const;

/** What a program does in its work folder. */
export type ProgramStep =
  | { readonly do: 'write'; readonly path: string; readonly content: string }
  | { readonly do: 'remove'; readonly path: string }
  | { readonly do: 'mkdir'; readonly path: string };

interface At {
  readonly user: string;
  readonly skill: string;
}

export type Operation =
  | (At & { readonly op: 'edit'; readonly path: string; readonly content: string })
  | (At & { readonly op: 'delete'; readonly path: string })
  | (At & { readonly op: 'move'; readonly path: string; readonly to: string })
  | (At & { readonly op: 'deleteSkill' })
  | (At & {
      readonly op: 'upload';
      readonly scope: 'baseline' | 'overlay';
      readonly files: Record<string, string>;
    })
  | (At & { readonly op: 'baseline'; readonly force: boolean })
  | (At & { readonly op: 'sync'; readonly keep: 'mine' | 'theirs' })
  | (At & { readonly op: 'begin'; readonly steps: readonly ProgramStep[] })
  | { readonly op: 'commit'; readonly nth: number }
  | { readonly op: 'withdraw'; readonly skill: string }
  | { readonly op: 'restoreVersion'; readonly skill: string; readonly nth: number }
  | { readonly op: 'collectGarbage' }
  | { readonly op: 'reopen' };

const path = fc.constantFrom(...paths);
const content = fc.constantFrom('', '1\n', '2\n', '3');
const at = { user: fc.constantFrom(...users), skill: fc.constantFrom(...skills) };
const steps: fc.Arbitrary<readonly ProgramStep[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('write' as const), path, content }),
    fc.record({ do: fc.constant('remove' as const), path }),
    fc.record({ do: fc.constant('mkdir' as const), path }),
  ),
  { maxLength: 4 },
);
/** No file is also a folder in these. */
const files = fc
  .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'd/x', 'd/y', 'd/e/z', 'SKILL.md'), content), {
    minLength: 1,
    selector: ([name]) => name,
  })
  .map((entries) => Object.fromEntries(entries));

export const operations: fc.Arbitrary<readonly Operation[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ op: fc.constant('edit' as const), ...at, path, content }) },
    { weight: 3, arbitrary: fc.record({ op: fc.constant('delete' as const), ...at, path }) },
    { weight: 2, arbitrary: fc.record({ op: fc.constant('move' as const), ...at, path, to: path }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('deleteSkill' as const), ...at }) },
    {
      weight: 3,
      arbitrary: fc.record({
        op: fc.constant('upload' as const),
        ...at,
        scope: fc.constantFrom('baseline' as const, 'overlay' as const),
        files,
      }),
    },
    { weight: 3, arbitrary: fc.record({ op: fc.constant('baseline' as const), ...at, force: fc.boolean() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        op: fc.constant('sync' as const),
        ...at,
        keep: fc.constantFrom('mine' as const, 'mine' as const, 'theirs' as const),
      }),
    },
    { weight: 5, arbitrary: fc.record({ op: fc.constant('begin' as const), ...at, steps }) },
    { weight: 5, arbitrary: fc.record({ op: fc.constant('commit' as const), nth: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('withdraw' as const), skill: at.skill }) },
    {
      weight: 1,
      arbitrary: fc.record({ op: fc.constant('restoreVersion' as const), skill: at.skill, nth: fc.nat(5) }),
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('collectGarbage' as const) }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('reopen' as const) }) },
  ),
  { minLength: 5, maxLength: 40 },
);
