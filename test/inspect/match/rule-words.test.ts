import t from 'tap';
import { hidesNames } from '../../../src/inspect/match/rule-words.ts';
import { compilePolicies, findWords } from '../../../src/policy/index.ts';
import { ruleSchema } from '../../../src/policy/schema.ts';
import { factsOf } from '../../policy/facts.ts';

const rule = (id: string, condition: Record<string, unknown>) =>
  ruleSchema.parse({ rule_id: id, match: {}, condition, action: 'DENY' });

const setOf = (...rules: ReturnType<typeof rule>[]) =>
  compilePolicies([
    { policyId: 'p', policyName: 'p', version: 1, envNames: undefined, mode: 'enforce', rules },
  ]);

const contains = setOf(
  rule('phrase', { body_contains_any: ['Wire Transfer', 'ÉTÉ', 'x', 'J̌'] }),
  rule('amount', { body_path_gt: { path: '$.amount', value: 10 } }),
);

t.test('what was looked for in a body before is what the rules would find themselves', async (t) => {
  const bodies = [
    '{"text":"a wire transfer now"}',
    '{"text":"cet été"}',
    '{"text":"ǰ"}',
    '{"text":"nothing of it"}',
    '{"amount":11}',
    '{"\\u0061mount":11}',
    '{"ａmount":11}',
  ];
  for (const body of bodies) {
    const facts = factsOf({ body: body });
    const found = findWords(contains.words, facts.body.texts);
    const wordsFound = { ...found, list: contains.words };
    const before = { ...facts, body: { ...facts.body, wordsFound, texts: [] } };
    t.strictSame(contains.decide(before), contains.decide(facts), body);
  }
});

t.test('what was looked for by the words of another set tells nothing', async (t) => {
  const facts = factsOf({ body: '{"text":"a wire transfer"}' });
  const other = [...contains.words];
  const wrong = { found: new Uint8Array(0), hidesNames: false, list: other };
  t.strictSame(
    contains.decide({ ...facts, body: { ...facts.body, wordsFound: wrong } }),
    contains.decide(facts),
  );
  t.match(contains.decide(facts).matched, { length: 1 });
});

t.test('many sets may come and go', async (t) => {
  for (let i = 0; i < 40; i++) {
    const list = [`word${i}`, 'another'];
    t.strictSame([...findWords(list, [Buffer.from(`the WORD${i} stands`)]).found], [1, 0]);
  }
  t.strictSame([...findWords(['a\0b'], [Buffer.from('ab')]).found], []);
});

t.test('an escape hides a name where it may stand for a letter or a digit', async (t) => {
  const hiding = [
    '\\u0061',
    '\\u005A',
    '\\u0039',
    '\\u017f',
    '\\u212A',
    '\\x61',
    '\\u{61}',
    '\\u00',
    '\\u2019\\u006d',
    'é\\u006D',
    'ſ',
  ];
  for (const text of hiding) t.equal(hidesNames(Buffer.from(text)), true, text);
  const harmless = ['\\u2019', '\\u003c', '\\u0026', '\\u00e9', '\\ud83d\\ude00', '\\n', 'é', 'é\\u2014'];
  for (const text of harmless) t.equal(hidesNames(Buffer.from(text)), false, text);
});
