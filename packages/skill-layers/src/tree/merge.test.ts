import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { applyDelta, deltaFromDocument, deltaOf, deltaToDocument } from './delta.js';
import { mergeTrees } from './merge.js';
import { fromDocument, sameTree, toDocument, type Tree, treeOf, versionOf } from './tree.js';

const treeFrom = (files: Record<string, string>, folders: string[] = []): Tree =>
  treeOf(
    new Map(Object.entries(files).map(([path, sha256]) => [path, { sha256, bytes: 1, executable: false }])),
    folders,
  );
const shown = ({ files, folders }: Tree) => [
  ...[...files].map(([path, { sha256 }]) => `${path}=${sha256}`),
  ...[...folders].map((folder) => `${folder}/`),
];
const beside = (path: string) => `${path}.beside`;

const anyTree = fc
  .tuple(
    fc.dictionary(fc.constantFrom('a', 'b', 'd/x', 'd/e/y', '__proto__'), fc.constantFrom('1', '2', '3')),
    fc.subarray(['d', 'f', 'd/e', 'f/g']),
  )
  .map(([files, folders]) => treeFrom(files, folders));

describe('merging', () => {
  const base = treeFrom({ a: '1', b: '1', 'd/x': '1' });
  test.each([
    [
      'what only came',
      { a: '1', b: '1', 'd/x': '1' },
      { a: '2', b: '1', 'd/x': '1' },
      ['a=2', 'b=1', 'd/x=1'],
      [],
    ],
    [
      'what only is here',
      { a: '2', b: '1', 'd/x': '1' },
      { a: '1', b: '1', 'd/x': '1' },
      ['a=2', 'b=1', 'd/x=1'],
      [],
    ],
    ['the same on both sides', { a: '2', b: '1' }, { a: '2', b: '1' }, ['a=2', 'b=1'], []],
    [
      'both changed',
      { a: '2', b: '1', 'd/x': '1' },
      { a: '3', b: '1', 'd/x': '1' },
      ['a=2', 'b=1', 'd/x=1', 'a.beside=3'],
      ['changed a'],
    ],
    ['changed here, deleted there', { a: '2' }, {}, ['a=2'], ['deleted a']],
    [
      'deleted here, changed there',
      { b: '1', 'd/x': '1' },
      { a: '2', b: '1', 'd/x': '1' },
      ['b=1', 'd/x=1', 'a=2'],
      ['restored a'],
    ],
    [
      'a folder there, a file here',
      { a: '2', b: '1', 'd/x': '1' },
      { 'a/1': 'n', 'a/2': 'n', b: '1', 'd/x': '1' },
      ['a=2', 'b=1', 'd/x=1', 'a.beside/1=n', 'a.beside/2=n'],
      ['deleted a', 'blocked a/1', 'blocked a/2'],
    ],
    [
      'a file there, a folder here',
      { 'a/1': 'n', b: '1', 'd/x': '1' },
      { a: '2', b: '1', 'd/x': '1' },
      ['a/1=n', 'b=1', 'd/x=1', 'a.beside=2'],
      ['blocked a'],
    ],
  ])('%s', (_, here, coming, expected, conflicts) => {
    const merged = mergeTrees(base, treeFrom(here), treeFrom(coming), beside);
    expect(shown(merged.tree).filter((each) => !each.endsWith('/'))).toEqual(expected);
    expect(merged.conflicts.map(({ kind, path }) => `${kind} ${path}`)).toEqual(conflicts);
  });

  test('nothing came, or nothing was done here: there is nothing to decide', () => {
    fc.assert(
      fc.property(anyTree, anyTree, (one, other) => {
        expect(shown(mergeTrees(one, other, one).tree).sort()).toEqual(shown(other).sort());
        expect(shown(mergeTrees(one, one, other).tree).sort()).toEqual(shown(other).sort());
        expect(mergeTrees(one, other, one).conflicts).toEqual([]);
      }),
    );
  });

  test('with a place beside, no content is ever lost', () => {
    fc.assert(
      fc.property(anyTree, anyTree, anyTree, (from, here, coming) => {
        const { tree } = mergeTrees(from, here, coming, beside);
        const kept = new Set([...tree.files.values()].map(({ sha256 }) => sha256));
        for (const [path, entry] of coming.files) {
          if (entry.sha256 !== from.files.get(path)?.sha256) expect(kept).toContain(entry.sha256);
        }
        for (const [path, entry] of here.files) {
          if (entry.sha256 !== from.files.get(path)?.sha256) expect(tree.files.get(path)).toEqual(entry);
        }
      }),
    );
  });
});

describe('trees', () => {
  test('come back from what is written down, and from their delta', () => {
    fc.assert(
      fc.property(anyTree, anyTree, (one, other) => {
        expect(sameTree(fromDocument(JSON.parse(JSON.stringify(toDocument(one))) as never), one)).toBe(true);
        const delta = deltaFromDocument(
          JSON.parse(JSON.stringify(deltaToDocument(deltaOf(one, other)))) as never,
        );
        expect(sameTree(applyDelta(one, delta), other)).toBe(true);
      }),
    );
  });

  test('have one version for one content, and others for others', () => {
    fc.assert(
      fc.property(anyTree, anyTree, (one, other) => {
        expect(versionOf(one) === versionOf(other)).toBe(sameTree(one, other));
      }),
    );
  });
});
