import t from 'tap';
import { createEngine } from '../../../src/inspect/match/engine.ts';
import { detectorSchema } from '../../../src/inspect/patterns/detector.ts';

const limits = { matchesMax: 10, isOver: () => false };

function countIn(text: string, keywords: readonly string[], window: number): number {
  const detector = detectorSchema.parse({
    ...{ id: 'personal-number', title: 'Personal number', class: 'PII' },
    ...{
      confidence: 'medium',
      source: 'made for this test',
      examples: { match: ['x 123456'], pass: ['x'] },
    },
    ...{ keywords, window: { before: 0, after: window }, pattern: '\\b\\d{6}\\b' },
  });
  return createEngine([detector]).find(Buffer.from(text), limits).matches.length;
}

const cases = [
  { keyword: 'дата рождения', texts: ['дата рождения', 'Дата рождения', 'ДАТА РОЖДЕНИЯ'] },
  { keyword: 'Führerschein', texts: ['führerschein', 'Führerschein', 'FÜHRERSCHEIN', 'FüHRERschein'] },
  { keyword: 'né le', texts: ['né le', 'Né le', 'NÉ LE', 'NÉ le'] },
  { keyword: 'ΑΦΜ', texts: ['αφμ', 'Αφμ', 'ΑΦΜ'] },
  { keyword: '身份证', texts: ['身份证'] },
  { keyword: 'passport', texts: ['passport', 'Passport', 'PASSPORT', 'pASSport'] },
];
for (const { keyword, texts } of cases) {
  for (const text of texts)
    t.test(`finds the keyword ${keyword} as ${text}`, async (t) => {
      t.equal(countIn(`${text}: 123456`, [keyword], 12), 1);
    });
}

t.test('a window is twice as long behind a word whose letters have several bytes each', async (t) => {
  const letters = (count: number, letter: string): string => ` ${letter.repeat(count)} 123456`;
  t.equal(countIn(`паспорт${letters(16, 'ж')}`, ['паспорт', 'passport'], 20), 1);
  t.equal(countIn(`паспорт${letters(24, 'ж')}`, ['паспорт', 'passport'], 20), 0, 'and no longer');
  t.equal(countIn(`passport${letters(16, 'ж')}`, ['паспорт', 'passport'], 20), 0);
  t.equal(countIn(`né le${letters(24, 'x')}`, ['né le'], 20), 0, 'one accent makes no wide word');
});
