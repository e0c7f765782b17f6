import t from 'tap';
import type { Finding } from '../../../src/core/finding.ts';
import { bodyPart, readPart } from '../../../src/inspect/read-part.ts';
import { engine } from '../../support/detectors.ts';
import { expandSample } from '../../support/samples.ts';

const bounds = { maxDecodedBytes: 100_000, isOver: () => false };
const phrase = expandSample('{phrase:12}');
const words = phrase.split(' ');
const numbered = (write: (word: string, number: number) => string): string[] =>
  words.map((word, index) => write(word, index + 1));

function findingsOf(text: string, type = 'text/plain'): readonly Finding[] {
  return readPart(bodyPart(Buffer.from(text), type, 'notes.acme.dev'), engine, bounds).findings;
}

/** Ways in which people and programs write a phrase. */
const ways: readonly (readonly [name: string, text: string, type?: string])[] = [
  ...[
    ' ',
    ', ',
    ',',
    '\n',
    '\r\n',
    '\t',
    '-',
    '_',
    '.',
    '/',
    ';',
    '|',
    ' | ',
    ' - ',
    '\u00a0',
    ' \u2022 ',
  ].map((gap) => [`with ${JSON.stringify(gap)} between the words`, words.join(gap)] as const),
  [
    'with several gaps',
    `${words[0]}, ${words[1]}\n${words.slice(2, 7).join(' ')},${words.slice(7).join('\t')}`,
  ],
  ['in capitals', phrase.toUpperCase()],
  ['with capital initials', words.map((it) => it.charAt(0).toUpperCase() + it.slice(1)).join(' ')],
  ['as a list with numbers', numbered((word, number) => `${number}. ${word}`).join('\n')],
  ['as a row of numbers and words', numbered((word, number) => `(${number}) ${word}`).join(' ')],
  ['as a list of Markdown', words.map((it) => `- \`${it}\``).join('\n')],
  ['as JSON', JSON.stringify({ words }), 'application/json'],
  ['as JSON on many lines', JSON.stringify({ wallet: { words } }, null, 4), 'application/json'],
  ['as a form', `w=${words.join('+')}`, 'application/x-www-form-urlencoded'],
  ['as base64', Buffer.from(phrase).toString('base64')],
];
for (const [name, text, type] of ways)
  t.test(`a seed phrase is found ${name}`, async (t) => {
    t.match(findingsOf(text, type), [{ kind: 'seed-phrase', confidence: 'high' }]);
  });

t.test('a phrase with a wrong checksum is none, whatever stands between its words', async (t) => {
  const wrong = [...words.slice(0, 11), words[0]];
  for (const gap of [' ', '-', '\t', ' | ', '/'])
    t.same(findingsOf(wrong.join(gap)), [], JSON.stringify(gap));
});

t.test('words with more than a line between them are no phrase', async (t) => {
  t.same(findingsOf(words.join(' '.repeat(17))), []);
});

t.test('a test vector of the standard has low confidence', async (t) => {
  for (const text of [`${'abandon '.repeat(11)}about`, `${'zoo '.repeat(11)}wrong`])
    t.match(findingsOf(text), [{ kind: 'seed-phrase', confidence: 'low' }]);
});
