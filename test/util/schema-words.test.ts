import t from 'tap';
import * as z from 'zod';
import { inWords } from '../../src/util/schema-words.ts';

const schema = z.strictObject({
  limit: z.int().max(1000).min(1),
  from: z.iso.datetime(),
  id: z.uuid(),
  status: z.enum(['open', 'closed']),
  names: z.array(z.string().max(3)).max(2),
  own: z.string().refine((it) => it === 'x', 'must be x'),
});
const good = {
  limit: 1,
  from: '2030-01-31T12:00:00Z',
  id: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
  status: 'open',
  names: [],
  own: 'x',
};

const cases: readonly (readonly [string, Record<string, unknown>, string])[] = [
  ['a number that is too large', { limit: 5000 }, 'must be at most 1000'],
  ['a number that is too small', { limit: 0 }, 'must be at least 1'],
  ['another type', { limit: 'secret-text' }, 'must be a number'],
  ['a field that is absent', { limit: undefined }, 'is missing'],
  ['no time', { from: 'yesterday' }, 'must be a time as 2030-01-31T12:00:00Z'],
  ['no UUID', { id: 'secret-text' }, 'must be a UUID'],
  ['none of the words', { status: 'secret-text' }, 'must be one of open, closed'],
  ['too many entries', { names: ['a', 'b', 'c'] }, 'must have at most 2 entries'],
  ['too long a text', { names: ['secret-text'] }, 'must have at most 3 characters'],
  ['a rule of our own', { own: 'secret-text' }, 'must be x'],
  ['a field that nobody knows', { colour: 1 }, 'has unknown fields: colour'],
];

for (const [name, change, expected] of cases) {
  t.test(`${name} is told in words, without the value`, async (t) => {
    const { error } = schema.safeParse({ ...good, ...change });
    t.equal(error?.issues.length, 1);
    t.equal(error && inWords(error.issues[0] as z.core.$ZodIssue), expected);
  });
}
