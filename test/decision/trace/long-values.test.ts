import fc from 'fast-check';
import t from 'tap';
import { parseCallBody } from '../../../src/decision/facts/body-structure.ts';
import { withoutLongStrings } from '../../../src/decision/trace/long-values.ts';
import { longStringPlaces } from '../../../src/inspect/kernel/string-ends.ts';

/*
 * A text is parsed without its long strings, and means what it means as a whole: also where one of them is broken.
 */

const long = (text: string): string => text.repeat(Math.ceil(5_000 / text.length));
const read = (text: string) => parseCallBody('application/json', Buffer.from(text));

/** As the parser of the language reads it. */
function plainly(text: string): unknown {
  try {
    return { kind: 'value', readings: [JSON.parse(text)] };
  } catch {
    return { kind: 'unclear' };
  }
}

const pieces = [
  'a',
  '\\n',
  '\\"',
  '\\\\',
  '\\u00e9',
  '\\ud83d\\ude00',
  'é',
  '\\/',
  '\\x',
  '\\u00g1',
  '\\u1"',
  '\t',
  '\u0001',
  '"',
  '\\',
];

t.test('whatever stands in long strings', async (t) => {
  const inString = fc.array(fc.constantFrom(...pieces), { maxLength: 4 }).map((all) => all.join(''));
  const text = fc.tuple(inString, inString, fc.boolean()).map(([one, other, isName]) => {
    const [first, second] = [`"${long('word and word ')}${one}"`, `"${one}${long('x')}${other}"`];
    return isName ? `{"a":${first},${second} : 1}` : `{"a":[${first}, {"b":${second}}],"c":${second}}`;
  });
  let parsed = 0;
  fc.assert(
    fc.property(text, (it) => {
      const [is, wanted] = [JSON.stringify(read(it)), JSON.stringify(plainly(it))];
      if (is.includes('"value"')) parsed += 1;
      return is === wanted;
    }),
    { numRuns: 400, seed: 5 },
  );
  t.ok(parsed > 20, `${parsed} of them are JSON`);
});

t.test('a long string is parsed when it is asked for, and is a value like any other', async (t) => {
  const value = { __proto__: null, messages: [{ content: long('Ärger, "so"\n') }, long('b')], n: 1 };
  const short = withoutLongStrings(Buffer.from(JSON.stringify(value)));
  t.ok(short && short.bytes.length < 200);
  const body = read(JSON.stringify(value));
  t.same(body, { kind: 'value', readings: [value] });
  t.same(read(`{"__proto__":"${long('c')}","constructor":"${long('d')}"}`).kind, 'value');
  t.equal(withoutLongStrings(Buffer.from(JSON.stringify(Array(5000).fill('short')))), undefined);
});

t.test('what is no object is parsed as a whole', async (t) => {
  for (const text of [
    JSON.stringify(long('text')),
    `{"a":"${long('a')}"}\n{"a":"${long('b')}"}`,
    `{"${long('k')}":1}`,
  ])
    t.same(read(text), { kind: 'value', readings: text.split('\n').map((it) => JSON.parse(it)) });
  t.equal(read(`{"a":"${long('a')}","a":"${long('b')}"}`).kind, 'unclear');
});

t.test('strings that lie across pieces of the kernel', async (t) => {
  for (let before = 65_520; before < 65_540; before++)
    for (const [middle, isJson] of [
      ['\\u00e9', true],
      ['\\\\', true],
      ['\\u00g9', false],
      ['\\q', false],
      ['\n', false],
    ] as const) {
      const text = Buffer.from(`["${'x'.repeat(before)}${middle}", "${'y'.repeat(600)}"]`);
      const next = text.length - 603;
      const own = isJson ? [1, next - 2] : [];
      t.same(longStringPlaces(text, 512, true), [...own, next, next + 602], `${before} and ${middle}`);
    }
});
