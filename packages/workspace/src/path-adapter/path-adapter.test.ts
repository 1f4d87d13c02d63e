import { posix, win32 } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { SecboxError } from '@secbox/contracts';
import fc from 'fast-check';
import type { Wslpath } from './convert-root.js';
import { createPathAdapter, type WorkspaceRoots } from './path-adapter.js';
import type { RuntimeMode } from './runtime-mode.js';

type Row = readonly [what: string, roots: WorkspaceRoots, expected: string];

function rootOf(mode: RuntimeMode, roots: WorkspaceRoots, wslpath?: Wslpath): string {
  const { root } = createPathAdapter({ mode, roots, wslpath });
  expect(root.dockerMountPath).toBe(root.hostPathNative);
  return root.hostPathNative;
}

function refusal(mode: RuntimeMode, roots: WorkspaceRoots, wslpath?: Wslpath): SecboxError {
  try {
    createPathAdapter({ mode, roots, wslpath });
  } catch (error) {
    if (error instanceof SecboxError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

const win = (path: string): WorkspaceRoots => ({ workspace_root_win: path });
const wsl = (path: string): WorkspaceRoots => ({ workspace_root_wsl: path });
const plain = (path: string): WorkspaceRoots => ({ workspace_root: path });

describe('the root on Windows', () => {
  it.each<Row>([
    ['a drive path', win('D:\\secbox'), 'D:\\secbox'],
    ['a lower-case drive', win('d:\\secbox'), 'D:\\secbox'],
    ['forward slashes', win('D:/secbox/ws'), 'D:\\secbox\\ws'],
    ['trailing and doubled slashes', win('D:\\secbox\\\\ws\\/'), 'D:\\secbox\\ws'],
    ['spaces and Unicode', win('C:\\Users\\José García\\工作区'), 'C:\\Users\\José García\\工作区'],
    ['a whole drive', win('E:\\'), 'E:\\'],
    ['its own before the other', { ...win('D:\\a'), ...wsl('/mnt/e/b'), ...plain('F:\\c') }, 'D:\\a'],
    ['converted from WSL’s', wsl('/mnt/d/secbox/my ws/'), 'D:\\secbox\\my ws'],
    ['a whole drive converted', wsl('/mnt/d'), 'D:\\'],
    ['the other before the plain one', { ...wsl('/mnt/d/b'), ...plain('F:\\c') }, 'D:\\b'],
    ['the plain one last', plain('F:\\data\\workspace'), 'F:\\data\\workspace'],
  ])('%s', (_what, roots, expected) => {
    expect(rootOf('windows', roots)).toBe(expected);
  });

  it.each<Row>([
    ['a WSL path', win('/mnt/d/secbox'), 'sandbox.workspace_root_win'],
    ['a POSIX path', win('/home/me'), 'sandbox.workspace_root_win'],
    ['drive-relative', win('D:secbox'), 'sandbox.workspace_root_win'],
    ['a bare drive', win('D:'), 'sandbox.workspace_root_win'],
    ['no drive', win('\\secbox'), 'sandbox.workspace_root_win'],
    ['a network share', win('\\\\server\\share\\x'), 'sandbox.workspace_root_win'],
    ['a network share with slashes', win('//server/share/x'), 'sandbox.workspace_root_win'],
    ['inside WSL', win('\\\\wsl$\\Ubuntu\\home\\me'), 'sandbox.workspace_root_win'],
    ['inside WSL, new name', win('\\\\wsl.localhost\\Ubuntu\\home'), 'sandbox.workspace_root_win'],
    ['a device path', win('\\\\?\\D:\\secbox'), 'sandbox.workspace_root_win'],
    ['relative', win('secbox\\ws'), 'sandbox.workspace_root_win'],
    ['empty', win(''), 'sandbox.workspace_root_win'],
    ['blank', win('  '), 'sandbox.workspace_root_win'],
    ['a parent in it', win('D:\\secbox\\..\\x'), 'sandbox.workspace_root_win'],
    ['a dot in it', win('D:\\.\\x'), 'sandbox.workspace_root_win'],
    ['a second colon', win('D:\\a:b'), 'sandbox.workspace_root_win'],
    ['a device name', win('D:\\con\\ws'), 'sandbox.workspace_root_win'],
    ['a newline', win('D:\\ws\n'), 'sandbox.workspace_root_win'],
    ['nothing set', {}, 'sandbox.workspace_root_win'],
    ['WSL’s own folder', wsl('/home/me/ws'), 'sandbox.workspace_root_win'],
    ['no drive of WSL, by case', wsl('/mnt/D/ws'), 'sandbox.workspace_root_win'],
    ['no drive of WSL, by length', wsl('/mnt/data/ws'), 'sandbox.workspace_root_win'],
    ['a Windows path in WSL’s setting', wsl('D:\\ws'), 'sandbox.workspace_root_wsl'],
    ['a POSIX default', plain('/var/lib/secbox'), 'sandbox.workspace_root'],
  ])('is refused: %s', (_what, roots, setting) => {
    const error = refusal('windows', roots);
    expect(error.code).toBe('invalid_setting');
    expect(error.details).toEqual({ setting });
    expect(error.message).toContain(`${setting}: `);
  });
});

describe('the root in WSL', () => {
  it.each<Row>([
    ['on a drive', wsl('/mnt/d/secbox'), '/mnt/d/secbox'],
    ['in the distribution', wsl('/home/me/ws'), '/home/me/ws'],
    ['trailing and doubled slashes', wsl('/mnt/d//ws//'), '/mnt/d/ws'],
    ['spaces and Unicode', wsl('/mnt/c/Users/José García/工作区'), '/mnt/c/Users/José García/工作区'],
    ['its own before the other', { ...wsl('/mnt/d/a'), ...win('E:\\b') }, '/mnt/d/a'],
    ['converted from Windows’', win('D:\\secbox\\my ws\\'), '/mnt/d/secbox/my ws'],
    ['converted, forward slashes, lower case', win('d:/ws'), '/mnt/d/ws'],
    ['a whole drive converted', win('D:\\'), '/mnt/d'],
    ['the plain one last', plain('/var/lib/secbox'), '/var/lib/secbox'],
  ])('%s', (_what, roots, expected) => {
    expect(rootOf('wsl', roots)).toBe(expected);
  });

  it.each<Row>([
    ['a Windows path', wsl('D:\\secbox'), 'sandbox.workspace_root_wsl'],
    ['a Windows path with slashes', wsl('D:/secbox'), 'sandbox.workspace_root_wsl'],
    ['drive-relative', wsl('D:secbox'), 'sandbox.workspace_root_wsl'],
    ['a share', wsl('\\\\wsl$\\Ubuntu\\home'), 'sandbox.workspace_root_wsl'],
    ['two leading slashes', wsl('//server/x'), 'sandbox.workspace_root_wsl'],
    ['relative', wsl('mnt/d'), 'sandbox.workspace_root_wsl'],
    ['a parent in it', wsl('/mnt/d/../c'), 'sandbox.workspace_root_wsl'],
    ['a backslash in it', wsl('/mnt/d\\x'), 'sandbox.workspace_root_wsl'],
    ['a colon in it', wsl('/mnt/d/a:b'), 'sandbox.workspace_root_wsl'],
    ['a device name', wsl('/mnt/d/nul'), 'sandbox.workspace_root_wsl'],
    ['the root of everything', wsl('/'), 'sandbox.workspace_root_wsl'],
    ['nothing set', {}, 'sandbox.workspace_root_wsl'],
    ['a network share to convert', win('\\\\server\\share'), 'sandbox.workspace_root_win'],
    ['a WSL share to convert, without wslpath', win('\\\\wsl$\\U\\home'), 'sandbox.workspace_root_win'],
    ['drive-relative to convert', win('D:ws'), 'sandbox.workspace_root_win'],
  ])('is refused: %s', (_what, roots, setting) => {
    const error = refusal('wsl', roots);
    expect(error.code).toBe('invalid_setting');
    expect(error.details).toEqual({ setting });
  });
});

describe('the root on Linux', () => {
  it.each<Row>([
    ['an absolute path', plain('/srv/secbox/'), '/srv/secbox'],
    ['names that only Windows reserves', plain('/srv/con/a?b'), '/srv/con/a?b'],
    [
      'not the settings of other systems',
      { ...plain('/srv/x'), ...win('D:\\a'), ...wsl('/mnt/d/a') },
      '/srv/x',
    ],
  ])('%s', (_what, roots, expected) => {
    expect(rootOf('linux', roots)).toBe(expected);
  });

  it.each<[string, WorkspaceRoots]>([
    ['only other systems’ settings', { ...win('D:\\a'), ...wsl('/mnt/d/a') }],
    ['a Windows path', plain('D:\\a')],
    ['relative', plain('data/workspace')],
    ['a parent in it', plain('/srv/../etc')],
    ['a colon in it', plain('/srv/a:b')],
    ['the root of everything', plain('///')],
  ])('is refused: %s', (_what, roots) => {
    expect(refusal('linux', roots).details).toEqual({ setting: 'sandbox.workspace_root' });
  });
});

describe('wslpath', () => {
  it('is believed over the rule, for drives mounted elsewhere', () => {
    expect(rootOf('wsl', win('D:\\ws'), () => '/drives/d/ws/')).toBe('/drives/d/ws');
    expect(rootOf('windows', wsl('/drives/d/ws'), () => 'd:\\ws')).toBe('D:\\ws');
    expect(rootOf('wsl', win('\\\\wsl$\\Ubuntu\\home\\me'), () => '/home/me')).toBe('/home/me');
  });

  it('leaves it to the rule where it has no answer', () => {
    expect(rootOf('wsl', win('D:\\ws'), () => undefined)).toBe('/mnt/d/ws');
    expect(rootOf('windows', wsl('/mnt/d/ws'), () => undefined)).toBe('D:\\ws');
  });

  it('is told the path and the direction, and only about absolute paths', () => {
    const wslpath = jest.fn<Wslpath>(() => undefined);
    rootOf('wsl', win('D:\\ws'), wslpath);
    rootOf('windows', wsl('/mnt/d/ws/'), wslpath);
    refusal('wsl', win('-u'), wslpath);
    refusal('windows', wsl('--help'), wslpath);
    expect(wslpath.mock.calls).toEqual([
      ['D:\\ws', 'wsl'],
      ['/mnt/d/ws', 'windows'],
    ]);
  });

  it('is not asked where nothing is missing', () => {
    const wslpath = jest.fn<Wslpath>(() => undefined);
    rootOf('wsl', { ...win('D:\\a'), ...wsl('/mnt/d/a') }, wslpath);
    rootOf('linux', plain('/srv'), wslpath);
    expect(wslpath).not.toHaveBeenCalled();
  });

  it('that fails names the setting to set, with the cause for the log', () => {
    const cause = new Error('wslpath: no such drive');
    const error = refusal('wsl', win('Q:\\ws'), () => {
      throw cause;
    });
    expect(error.details).toEqual({ setting: 'sandbox.workspace_root_wsl' });
    expect(error.cause).toBe(cause);
  });

  it('that answers in the wrong form is not believed', () => {
    expect(refusal('wsl', win('D:\\ws'), () => 'D:\\ws').code).toBe('invalid_setting');
    expect(refusal('wsl', win('D:\\ws'), () => '/mnt/d/ws\n').code).toBe('invalid_setting');
    const share = () => '\\\\wsl.localhost\\Ubuntu\\home\\me';
    expect(refusal('windows', wsl('/home/me'), share).details).toEqual({
      setting: 'sandbox.workspace_root_win',
    });
  });
});

describe('below the root', () => {
  const roots = { workspace_root_win: 'D:\\ws', workspace_root_wsl: '/mnt/d/ws', workspace_root: '/srv/ws' };
  const adapterFor = (mode: RuntimeMode) => createPathAdapter({ mode, roots });

  it.each<[RuntimeMode, string]>([
    ['windows', 'D:\\ws\\projects\\p 1\\工作'],
    ['wsl', '/mnt/d/ws/projects/p 1/工作'],
    ['linux', '/srv/ws/projects/p 1/工作'],
  ])('%s', (mode, path) => {
    expect(adapterFor(mode).below(['projects', 'p 1', '工作'])).toEqual({
      hostPathNative: path,
      dockerMountPath: path,
    });
  });

  it('of a whole drive', () => {
    const adapter = createPathAdapter({ mode: 'windows', roots: win('E:\\') });
    expect(adapter.below(['projects']).hostPathNative).toBe('E:\\projects');
  });

  it.each<[string, readonly string[]]>([
    ['nothing: the root itself is never a mount', []],
    ['a parent', ['projects', '..', 'x']],
    ['an absolute component', ['projects', '/etc']],
    ['another drive', ['C:']],
    ['a colon', ['projects', 'a:b']],
    ['more than 4096 bytes', Array<string>(50).fill('x'.repeat(100))],
  ])('is refused in every mode: %s', (_what, components) => {
    for (const mode of ['windows', 'wsl', 'linux'] as const) {
      expect(() => adapterFor(mode).below(components)).toThrow(
        expect.objectContaining({ code: 'invalid_path' }),
      );
    }
  });

  it('is never anywhere else, whatever the components', () => {
    const component = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('..', '.', 'C:', 'con', '\\\\x', '/', 'a'),
    );
    fc.assert(
      fc.property(
        fc.constantFrom<RuntimeMode>('windows', 'wsl', 'linux'),
        fc.array(component),
        (mode, names) => {
          const adapter = adapterFor(mode);
          const system = mode === 'windows' ? win32 : posix;
          try {
            const { dockerMountPath } = adapter.below(names);
            expect(system.relative(adapter.root.hostPathNative, dockerMountPath).split(system.sep)).toEqual(
              names,
            );
            expect(dockerMountPath.slice(2)).not.toContain(':');
          } catch (error) {
            expect(error).toMatchObject({ code: 'invalid_path' });
          }
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('the two conversions undo each other', () => {
    const name = fc
      .stringMatching(/^[\p{L}0-9_-][\p{L}0-9 _.-]{0,8}[\p{L}0-9_-]$/u)
      .filter((text) => !/^(?:con|prn|aux|nul|com|lpt)/i.test(text));
    fc.assert(
      fc.property(fc.constantFrom('A', 'd', 'Z'), fc.array(name), (drive, names) => {
        const windows = rootOf('windows', win([`${drive}:\\`, ...names].join('\\')));
        expect(rootOf('windows', wsl(rootOf('wsl', win(windows))))).toBe(windows);
      }),
    );
  });
});
