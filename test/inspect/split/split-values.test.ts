import { randomBytes } from 'node:crypto';
import t from 'tap';
import type { Finding } from '../../../src/core/call.ts';
import type { FieldFormat } from '../../../src/inspect/decode/fields.ts';
import { looksRandom } from '../../../src/inspect/match/engine.ts';
import { readPart } from '../../../src/inspect/read-part.ts';
import { redactBody } from '../../../src/inspect/redact/redact.ts';
import { detectors, engine } from '../../support/detectors.ts';
import { examplesOf } from '../../support/examples.ts';
import { expandSample } from '../../support/samples.ts';
import { awsKeyId, gitlabToken } from '../../support/secrets.ts';

/** What counts of what is found. */
function read(text: string, format: FieldFormat): Finding[] {
  const part = {
    ...({ name: format === 'head' ? 'head' : 'body', format, host: 'api.test.example' } as const),
    ...{ bytes: Buffer.from(text), locator: () => (at: number) => `${at}` },
  };
  const { findings } = readPart(part, engine, { maxDecodedBytes: 8 * 1024 * 1024, isOver: () => false });
  return findings.filter(({ confidence }) => confidence !== 'low');
}

/** The text in so many pieces of about one length. */
function cut(text: string, count: number): string[] {
  const size = Math.ceil(text.length / count);
  return Array.from({ length: count }, (_, index) => text.slice(index * size, (index + 1) * size));
}

const named = (names: readonly string[], pieces: readonly string[]): string =>
  JSON.stringify({ title: 'x', ...Object.fromEntries(pieces.map((it, index) => [names[index], it])), n: 3 });

interface Carrier {
  readonly name: string;
  readonly format: FieldFormat;
  write(pieces: readonly string[]): string;
}

const carriers: readonly Carrier[] = [
  { name: 'numbered members', format: 'json', write: (it) => named(['part1', 'part2', 'part3'], it) },
  { name: 'members numbered from 0', format: 'json', write: (it) => named(['c_0', 'c_1', 'c_2'], it) },
  { name: 'lettered members', format: 'json', write: (it) => named(['a', 'b', 'c'], it) },
  {
    name: 'members numbered by words',
    format: 'json',
    write: (it) => named(['first_half', 'second_half', 'third_half'], it),
  },
  { name: 'members without numbers', format: 'json', write: (it) => named(['user', 'note', 'city'], it) },
  {
    name: 'numbered members out of order, with others between them',
    format: 'json',
    write: ([one, two = '', ...rest]) => JSON.stringify({ p2: two, x: 'y', p1: one, p3: rest.join('') }),
  },
  { name: 'items of a list', format: 'json', write: (words) => JSON.stringify({ words, n: 4 }) },
  {
    name: 'messages of a chat',
    format: 'json',
    write: (it) => JSON.stringify({ messages: it.map((content) => ({ role: 'user', content })) }),
  },
  {
    name: 'JSON in JSON',
    format: 'json',
    write: (it) => JSON.stringify({ arguments: named(['part1', 'part2', 'part3'], it) }),
  },
  {
    name: 'variables of GraphQL',
    format: 'json',
    write: ([one, two, three]) =>
      JSON.stringify({ query: 'mutation($p1:String!){x}', variables: { p1: one, p2: two, p3: three } }),
  },
  {
    name: 'pieces with invisible characters',
    format: 'json',
    write: (it) =>
      named(
        ['p1', 'p2', 'p3'],
        it.map((piece) => Array.from(piece).join('\u200b')),
      ),
  },
  {
    name: 'pieces of base64',
    format: 'json',
    write: (it) =>
      named(['p1', 'p2', 'p3'], cut(Buffer.from(it.join('')).toString('base64'), Math.max(2, it.length))),
  },
  {
    name: 'fields of a form',
    format: 'form',
    write: (it) => it.map((piece, index) => `p${index + 1}=${encodeURIComponent(piece)}`).join('&'),
  },
  {
    name: 'parameters of a query',
    format: 'head',
    write: (it) => `https://h.example/?${it.map((piece, i) => `p${i}=${piece}`).join('&')}\n\x1e\n`,
  },
  {
    name: 'parameters of one name',
    format: 'head',
    write: (it) => `https://h.example/?${it.map((piece) => `q=${piece}`).join('&')}\n\x1e\n`,
  },
  {
    name: 'header fields',
    format: 'head',
    write: (it) => `https://h.example/\n\x1e\n${it.map((piece, i) => `x-p-${i}: ${piece}`).join('\n\x1e\n')}`,
  },
  {
    name: 'cookies',
    format: 'head',
    write: (it) => `https://h.example/\n\x1e\ncookie: ${it.map((piece, i) => `c${i}=${piece}`).join('; ')}`,
  },
  {
    name: 'parts of a multipart body',
    format: 'multipart',
    write: (it) =>
      `${it.map((piece, i) => `--b\r\nContent-Disposition: form-data; name="p${i}"\r\n\r\n${piece}\r\n`).join('')}--b--`,
  },
  {
    name: 'names of files',
    format: 'multipart',
    write: (it) =>
      `${it.map((piece, i) => `--b\r\nContent-Disposition: form-data; name="f${i}"; filename="${piece}"\r\n\r\nx\r\n`).join('')}--b--`,
  },
  {
    name: 'elements of XML',
    format: 'xml',
    write: (it) => `<r>${it.map((piece, i) => `<p${i}>${piece}</p${i}>`).join('')}</r>`,
  },
  {
    name: 'lines of an environment file',
    format: 'text',
    write: (it) => it.map((piece, i) => `P_${i}=${piece}`).join('\n'),
  },
  { name: 'cells of a row', format: 'text', write: (it) => `id,a,b\n1,${it.join(',')}\n` },
];

const ampersand = 0x26;

/** The first example of each detector whose secrets tell themselves by a prefix, without what stands around it. */
const tokens = detectors
  .filter((it) => engine.tokenOf(it.id) !== undefined)
  .flatMap(({ id }) => {
    const text = expandSample(examplesOf({ id }).match[0] ?? '');
    const found = read(text, 'text').find((it) => it.kind === id);
    return found ? [{ id, text: Buffer.from(text).toString('utf8', found.start, found.end) }] : [];
  })
  // What is long enough in half is found before anything is put together; some may hold what ends a field.
  .filter(({ text }) => read(text, 'text').length > 0 && read(cut(text, 2)[0] ?? '', 'text').length === 0)
  .filter(({ id, text }) => engine.tokenOf(id)?.alphabet[ampersand] === 0 && /^[\w.-]+$/.test(text))
  .filter(({ text }) => [2, 3].every((count) => cut(text, count).every(looksRandom)));

for (const { name, format, write } of carriers) {
  t.test(`puts secrets together that are split over ${name}`, async (t) => {
    t.ok(tokens.length > 60, `${tokens.length} kinds`);
    for (const { id, text } of tokens) {
      // Of three, the first piece still holds the prefix.
      for (const pieces of [cut(text, 2), cut(text, 3)]) {
        const body = write(pieces);
        const found = read(body, format).filter((it) => it.class === 'SECRETS');
        if (found.length <= 1) return t.fail(`${id} in ${pieces.length} pieces`);
        if (format === 'head') continue;
        const cuts = found.map((it) => ({ ...it, label: it.kind }));
        const left = redactBody(Buffer.from(body), cuts, format)?.toString() ?? '';
        if (!pieces.every((piece) => piece === '' || !left.includes(piece))) return t.fail(`${id} is left`);
      }
    }
  });
}

/** The pieces of a secret, and others that stand beside them. */
const beside: { name: string; format: FieldFormat; write: (pieces: readonly string[]) => string }[] = [
  {
    name: 'another field behind them',
    format: 'json',
    write: ([a, b]) => JSON.stringify({ note: a, memo: b, lang: 'en' }),
  },
  {
    name: 'an id behind them',
    format: 'json',
    write: ([a, b]) => JSON.stringify({ note: a, memo: b, id: 'x7Kq2' }),
  },
  { name: 'another item behind them', format: 'json', write: (it) => JSON.stringify([...it, 'en']) },
  {
    name: 'words between them',
    format: 'json',
    write: ([a, b]) => JSON.stringify({ note: a, x: 'hello world', memo: b }),
  },
  {
    name: 'an id between them',
    format: 'json',
    write: ([a, b]) => JSON.stringify({ note: a, x: 'x7Kq2', memo: b }),
  },
  {
    name: 'further variables',
    format: 'json',
    write: ([a, b]) => JSON.stringify({ query: 'mutation($a:String){x}', variables: { a, b, c: 'en' } }),
  },
  { name: 'a third element', format: 'xml', write: ([a, b]) => `<r><u>${a}</u><v>${b}</v><w>en</w></r>` },
  { name: 'a third attribute', format: 'xml', write: ([a, b]) => `<r u="${a}" v='${b}' w="en"/>` },
  {
    name: 'values, as names',
    format: 'json',
    write: ([a = '', b = '']) => JSON.stringify({ [a]: { [b]: 'en' } }),
  },
  {
    name: 'nothing, as name and value',
    format: 'json',
    write: ([a = '', b]) => JSON.stringify({ [a]: b, c: 'en' }),
  },
  {
    name: 'values, as names of a query',
    format: 'head',
    write: ([a, b]) => `https://h.example/?${a}=1&${b}=2\n\x1e\n`,
  },
];

for (const { name, format, write } of beside) {
  t.test(`puts pieces together with ${name}`, async (t) => {
    for (const text of [gitlabToken(), gitlabToken(), gitlabToken()]) {
      const pieces = cut(text, 2);
      const body = write(pieces);
      const shown = read(body, format).map(({ start, end }) => body.slice(start, end));
      for (const piece of pieces) t.ok(shown.includes(piece), `${piece} in ${body}`);
    }
  });
}

t.test('puts a long secret together that is cut into many items', async (t) => {
  const text = `sk-ant-${'api03-'}${randomBytes(70).toString('base64url')}AA`;
  const items = text.match(/.{1,10}/g) ?? [];
  t.equal(read(JSON.stringify({ items: [...items, 'end'] }), 'json').length, items.length);
  t.equal(read(JSON.stringify({ items }), 'json').length, items.length);
});

t.test('of pieces that come twice all are found', async (t) => {
  const [note, memo] = cut(awsKeyId().replace(/.$/, '7'), 2);
  const found = read(JSON.stringify({ x: { note, memo }, y: { note, memo } }), 'json');
  t.equal(new Set(found.map(({ location }) => location)).size, 4);
});

t.test('names of code that begin like a short prefix take no place from a secret behind them', async (t) => {
  const names = Array.from({ length: 40 }, () => ['pathIndex', 'key_share', 'test/api-stream.js']).flat();
  const [one = '', two = ''] = cut(gitlabToken(), 2);
  const body = JSON.stringify({ names, user: one, note: two });
  t.equal(read(body, 'json').length, 2);
});

t.test('beginnings without an end take no tries from a secret behind them', async (t) => {
  const [one = '', two = ''] = cut(gitlabToken(), 2);
  for (const count of [1, 2, 3]) {
    const decoys = Array.from({ length: count }, () => `glpat-${randomBytes(3).toString('hex')}%41`);
    const pieces = Array.from({ length: 40 }, () => randomBytes(9).toString('hex').slice(0, 7).concat('!Q'));
    const body = JSON.stringify([...decoys.map((it) => [it, ...pieces]), { user: one }, { note: two }]);
    t.equal(read(body, 'json').length, 2, `${count} of them`);
  }
});

t.test('the pieces of a secret are looked for within bounds', async (t) => {
  const [one, two] = cut(gitlabToken(), 2);
  const between = (count: number, filler: (index: number) => string) => {
    const fields = Array.from({ length: count }, (_, i) => ({ title: filler(i) }));
    return read(JSON.stringify([{ note: one }, ...fields, { memo: two }]), 'json').length;
  };
  t.equal(
    between(8, () => 'a word'),
    2,
    'words between them',
  );
  t.equal(
    between(9, () => 'a word'),
    0,
    'too many words',
  );
  t.equal(
    between(2, (i) => `x7Kq2mZ9v!${i}`),
    0,
    'two that look like pieces',
  );
  const beginnings = Array.from({ length: 16 }, () => gitlabToken().slice(0, 14));
  const pieces = Array.from({ length: 64 }, () => randomBytes(9).toString('hex').slice(0, 7).concat('!Q'));
  let looks = 0;
  const isOver = () => {
    looks += 1;
    return false;
  };
  const part = {
    ...({ name: 'body', format: 'json', host: 'api.test.example' } as const),
    ...{ bytes: Buffer.from(JSON.stringify([beginnings, pieces])), locator: () => () => '' },
  };
  readPart(part, engine, { maxDecodedBytes: 1 << 20, isOver });
  t.ok(looks < 4096, `${looks} questions for the time`);
});

/** With its check digit (ISO/IEC 7812-1, annex B). */
function cardNumber(start: string): string {
  const sum = Array.from(start, Number)
    .map((digit, index) => (index % 2 === 0 ? digit * 2 : digit))
    .reduce((total, it) => total + (it > 9 ? it - 9 : it), 0);
  return `${start}${(10 - (sum % 10)) % 10}`;
}

const card = cardNumber('471628309475102');
const personal: { name: string; pieces: Record<string, string> }[] = [
  { name: 'a card', pieces: { part1: `card ${card.slice(0, 6)}`, part2: card.slice(6) } },
  { name: 'an e-mail address', pieces: { part1: 'ann.smith@foundry-l', part2: 'ane.org' } },
  { name: 'a social security number', pieces: { part1: 'SSN 308 ', part2: '27 4439' } },
];

for (const { name, pieces } of personal) {
  t.test(`puts ${name} together`, async (t) => {
    const found = read(JSON.stringify(pieces), 'json').filter((it) => it.class === 'PII');
    t.ok(found.length > 1);
    t.same(
      Object.values(pieces).filter((piece) => read(piece, 'text').length > 0),
      [],
      'no piece tells it',
    );
  });
}

const token = gitlabToken();
const key = awsKeyId();
const apart: { name: string; text: string; finds: number }[] = [
  {
    name: 'two whole secrets side by side',
    text: JSON.stringify({ k1: token, k2: gitlabToken() }),
    finds: 2,
  },
  {
    name: 'e-mail addresses of a numbered list',
    text: JSON.stringify({ email1: 'ann@example.com', email2: 'bob@example.com' }),
    finds: 2,
  },
  {
    name: 'a prefix that is told beside the words behind it',
    text: JSON.stringify({ prefix: 'sk_live_', env: 'production', name: 'deployment', kind: 'subscription' }),
    finds: 0,
  },
  {
    name: 'a prefix that is told beside a hash',
    text: JSON.stringify({ prefix: 'ghp_abc123', hash: 'd'.repeat(8) + '0123456789abcdef'.repeat(3) }),
    finds: 0,
  },
  {
    name: 'words in numbered fields',
    text: JSON.stringify({ line1: 'green', line2: 'lantern', step_1: 'wash', step_2: 'dry' }),
    finds: 0,
  },
  {
    name: 'a word whose length completes a made-up token',
    text: JSON.stringify({ title: 'ghp_FakeSeederToken4DevOrg2026', uris: [{ match: 'startsWith' }] }),
    finds: 0,
  },
  {
    name: 'names of columns behind a short prefix',
    text: JSON.stringify([
      't1.col1',
      't2col1',
      'col1',
      't1col1',
      'T1Col1',
      'Col1',
      't2col2',
      'value1',
      'key1',
    ]),
    finds: 0,
  },
  {
    name: 'a beginning whose rest stands far behind other fields',
    text: JSON.stringify({
      a: key.slice(0, 12),
      ...Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`w${'x'.repeat(i)}`, 'word'])),
      z: key.slice(12),
    }),
    finds: 0,
  },
];

for (const { name, text, finds } of apart) {
  t.test(`leaves apart ${name}`, async (t) => t.equal(read(text, 'json').length, finds));
}

t.test('what numbered fields say together is bounded', async (t) => {
  const [one = '', two = ''] = ['ann.smith@foundry-l', 'ane.org'];
  const filler = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`f${i + 1}`, 'y z '.repeat(1000)]));
  t.ok(read(JSON.stringify({ p1: one, p2: two, ...filler }), 'json').length > 1, 'before the bound');
  t.equal(read(JSON.stringify({ ...filler, p1: one, p2: two }), 'json').length, 0, 'behind it');
  const pairs = Object.fromEntries(
    Array.from({ length: 70 }, (_, i) => [
      [`k${'x'.repeat(i)}1`, 'a'],
      [`k${'x'.repeat(i)}2`, 'b'],
    ]).flat(),
  );
  t.equal(read(JSON.stringify({ ...pairs, p1: one, p2: two }), 'json').length, 0, 'series beyond the 64th');
});
