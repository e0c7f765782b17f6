import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { loadPhrasebook } from '../../../src/inspect/injection/phrasebook.ts';

const words = 'greet: { en: [hello], fr: [bonjour] }';
const common = '{ concepts: [greet], words: [adieu] }';
const rules = '- { kind: politeness, concepts: [greet], weight: 0.5 }';

t.test('reads concepts of all files, and the rules', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-phrases-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'a.yaml'), words);
  writeFileSync(join(dir, 'b.yaml'), 'part: { en: [bye*], fr: [adieu, bonjour] }');
  writeFileSync(join(dir, 'common.yaml'), common);
  writeFileSync(join(dir, 'rules.yaml'), rules);
  const book = loadPhrasebook(dir);
  t.strictSame(
    [...book.concepts],
    [
      ['greet', ['hello', 'bonjour']],
      ['part', ['bye*', 'adieu', 'bonjour']],
    ],
  );
  t.strictSame([...book.common], ['hello', 'adieu'], 'a word of another concept is as rare as that');
  t.match(book.rules, [{ kind: 'politeness', order: 'given', weight: 0.5 }]);
  t.end();
});

t.test('refuses what is not valid, and says where', (t) => {
  const cases: readonly [name: string, files: Readonly<Record<string, string>>, message: RegExp][] = [
    [
      'a rule of an unknown concept',
      { 'a.yaml': words, 'rules.yaml': rules.replace('greet', 'gret') },
      /rules.yaml: there is no concept gret/,
    ],
    [
      'a doubt of an unknown concept',
      { 'a.yaml': words, 'rules.yaml': rules.replace('weight', 'doubt: gret, weight') },
      /rules.yaml: there is no concept gret/,
    ],
    [
      'an unknown concept that is common',
      { 'a.yaml': words, 'common.yaml': common.replace('greet', 'gret'), 'rules.yaml': rules },
      /common.yaml: there is no concept gret/,
    ],
    [
      'a concept in two files',
      { 'a.yaml': words, 'b.yaml': words, 'rules.yaml': rules },
      /b.yaml: greet stands in another file/,
    ],
    [
      'an unknown key',
      { 'a.yaml': words, 'rules.yaml': rules.replace('weight', 'wieght') },
      /rules.yaml is not valid/,
    ],
    ['a weight of one', { 'a.yaml': words, 'rules.yaml': rules.replace('0.5', '1') }, /0.weight/],
    ['a concept without words', { 'a.yaml': 'greet: { en: [] }', 'rules.yaml': rules }, /greet.en/],
  ];
  for (const [name, files, message] of cases) {
    const dir = mkdtempSync(join(tmpdir(), 'postern-phrases-'));
    t.teardown(() => rmSync(dir, { recursive: true, force: true }));
    for (const [file, text] of Object.entries({ 'common.yaml': common, ...files }))
      writeFileSync(join(dir, file), text);
    t.throws(() => loadPhrasebook(dir), message, name);
  }
  t.end();
});
