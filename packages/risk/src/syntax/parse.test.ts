import { beforeAll, describe, expect, test } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import { assessedLanguages, type AssessedLanguage } from '../language.js';
import { readCorpus } from '../testing/corpus.js';
import { loadParses, type Parses } from './parse.js';

const corpus = readCorpus();
let parses: Parses;
beforeAll(async () => {
  parses = await loadParses();
});

/** Code without its end or its beginning, which is full of mistakes. */
function mistaken({ code }: { readonly code: string }): readonly string[] {
  return [code.slice(0, Math.ceil(code.length / 2)), code.slice(Math.ceil(code.length / 3))];
}

describe('trees read from the memory of the parser', () => {
  test('are those of every language', () => {
    expect(parses.read).toEqual([...assessedLanguages]);
  });

  test.each(assessedLanguages.map((language) => [language]))(
    'are the very trees that it tells: %s',
    (language) => {
      const own = corpus.filter((snippet) => snippet.language === language);
      const texts = own.flatMap((snippet) => [snippet.code, ...mistaken(snippet)]);
      const others = texts.filter(
        (text) => !isDeepStrictEqual(parses.parse(language, text), parses.walk(language, text)),
      );
      expect(texts.length).toBeGreaterThan(100);
      expect(others).toEqual([]);
    },
  );

  test('are so after the memory has grown', () => {
    const large = 'x = [1, 2, "ö"]\n'.repeat(30_000);
    expect(parses.parse('python', large)).toBe('too-complex');
    const deep = `${'('.repeat(700)}1${')'.repeat(700)}`;
    expect(parses.parse('python', deep)).toBe(parses.walk('python', deep));
    const text = 'y = f(x)\n';
    expect(parses.parse('python', text)).toEqual(parses.walk('python', text));
  });

  test.each<[AssessedLanguage, string]>([
    ['python', ''],
    ['bash', ''],
    ['javascript', ''],
    ['python', '\n\n  \n'],
    ['bash', '# only a comment'],
  ])('of next to nothing: %s %j', (language, text) => {
    expect(parses.parse(language, text)).toEqual(parses.walk(language, text));
  });
});

test('a text that the parser takes in pieces is whole, wherever they end', () => {
  for (let before = 1015; before < 1030; before += 1) {
    const text = `a = "${'x'.repeat(before)}"; 𝐞𝐯𝐚𝐥 = "😀"\n`;
    const tree = parses.parse('python', text);
    expect(tree).toMatchObject({ error: undefined, root: { end: text.length } });
  }
});
