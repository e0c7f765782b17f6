import t from 'tap';
import { IssuedTokens, TokenBook } from '../../src/credentials/issued-tokens.ts';

const hourMs = 3_600_000;
const token = (text: string, validMs = hourMs) => ({ text, validMs });

t.test('a token is known until it ends and a minute more, the newest one for ever', async (t) => {
  const issued = new IssuedTokens();
  issued.add(token('one'), 0);
  issued.add(token('two', 2 * hourMs), 1000);
  const known = issued.at(hourMs + 59_999);
  t.same(known, ['two', 'one']);
  t.equal(issued.at(hourMs + 59_999), known, 'the same list while it is the same');
  t.same(issued.at(hourMs + 60_000), ['two']);
  t.same(issued.at(9 * hourMs), ['two']);
});

t.test('the same token again is known for longer, and once', async (t) => {
  const issued = new IssuedTokens();
  issued.add(token('one'), 0);
  issued.add(token('two'), 0);
  issued.add(token('one'), hourMs);
  t.same(issued.at(hourMs), ['one', 'two']);
  issued.add(token('three'), 2 * hourMs);
  t.same(issued.at(2 * hourMs), ['three', 'one']);
});

t.test('of more than sixteen the one that ends first is forgotten', async (t) => {
  const issued = new IssuedTokens();
  issued.add(token('long', 9 * hourMs), 0);
  for (let i = 0; i < 15; i += 1) issued.add(token(`short ${i}`), i);
  t.ok(issued.isFullAt(15));
  issued.add(token('new'), 15);
  const known = issued.at(15);
  t.equal(known.length, 16);
  t.equal(known[0], 'new');
  t.ok(known.includes('long'));
  t.notOk(known.includes('short 0'));
  t.notOk(issued.isFullAt(2 * hourMs));
});

t.test(
  'each credential of each tenant has its own, and no more than a bounded number is remembered',
  async (t) => {
    const book = new TokenBook();
    book.of('acme', 'bot').add(token('one'), 0);
    t.same(book.of('acme', 'bot').at(1), ['one']);
    t.same(book.of('acme', 'other').at(1), []);
    t.same(book.of('other', 'bot').at(1), []);
    for (let i = 0; i < 20_000; i += 1) book.of('many', String(i));
    t.same(book.of('acme', 'bot').at(1), [], 'what was asked for long ago begins anew');
  },
);
