import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { type Shingles, shinglesFromText, shinglesToText } from '../../../src/core/history.ts';
import { createShingler } from '../../../src/inspect/fingerprint/shingles.ts';

const key = Buffer.alloc(32, 7);
const shingler = createShingler(key);
const windowMin = 32;

const read = (...texts: readonly string[]): Shingles =>
  shingler.ofRead(texts.map((text) => Buffer.from(text)));
const write = (...texts: readonly string[]): Shingles =>
  shingler.ofWrite(texts.map((text) => Buffer.from(text)));
const shared = (known: Shingles, sent: Shingles): number => {
  const values = new Set(sent);
  return known.filter((value) => values.has(value)).length;
};

/** Below `limit`; the same row for the same seed. */
function numbers(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % limit;
  };
}

const syllables =
  'an ber co den el for gra hi in ka lo mer ni on per qua ri sten tur ul ver wa xi yo zen'.split(' ');

function proseOf(length: number, seed = 1): string {
  const below = numbers(seed);
  let text = '';
  while (text.length < length) {
    for (let count = 2 + below(3); count > 0; count -= 1) text += syllables[below(syllables.length)];
    text += below(12) === 0 ? '. ' : ' ';
  }
  return text.slice(0, length);
}

const people = Array.from({ length: 100 }, (_, at) => {
  const [first = '', last = ''] = proseOf(40, at + 1)
    .replaceAll('.', '')
    .split(' ');
  return {
    id: 10_000 + at * 37,
    name: `${first} ${last}`,
    mail: `${last}@${first}.example`,
    balance: at * 7919,
  };
});
const rows = people.map(({ id, name, mail, balance }) => [id, name, mail, balance]);
const prose = proseOf(6000);

interface Wrapping {
  readonly name: string;
  readonly content: string;
  readonly sent: readonly string[];
}

const records = JSON.stringify({ total: 100, items: people });
const base64 = Buffer.from(prose).toString('base64');
const quoteOf = (text: string): string => text.slice(2345, 2545);
const renamed = people.map(({ id, name, mail, balance }) => ({
  number: id,
  fullName: name,
  to: mail,
  eur: balance,
}));

const wrappings: readonly Wrapping[] = [
  { name: 'as it was', content: prose, sent: [prose] },
  { name: 'in upper case', content: prose, sent: [prose.toUpperCase()] },
  { name: 'without white space', content: prose, sent: [prose.replace(/\s/g, '')] },
  ...[
    '\u00a0',
    '\u3000',
    '\u2009',
    '\u0085',
    '\u1680',
    ' \u2014 ',
    ' \u2022 ',
    ' \u201c',
    '\u{1f600}',
    ' \ufe0f',
  ].map(
    (sign): Wrapping => ({
      name: `with U+${sign.trim().codePointAt(0)?.toString(16)} between its words`,
      content: prose,
      sent: [prose.replaceAll(' ', sign)],
    }),
  ),
  { name: 'in short lines', content: prose, sent: [prose.replace(/(.{40}\S*) /g, '$1\r\n> ')] },
  { name: 'in a string of JSON', content: prose, sent: [JSON.stringify({ text: prose, n: 1 })] },
  { name: 'as the key of an object', content: prose, sent: [JSON.stringify({ [prose]: 1 })] },
  { name: 'as short keys', content: prose, sent: [JSON.stringify(Object.fromEntries(piecesOf(prose)))] },
  { name: 'in base64 that was decoded', content: prose, sent: [JSON.stringify({ data: base64 }), prose] },
  {
    name: 'in paragraphs',
    content: prose,
    sent: [`<p>${prose.replace(/(.{300}\S*) /g, '$1</p>\n<p>')}</p>`],
  },
  { name: 'as a quote of 200 characters', content: prose, sent: [`She said: "${quoteOf(prose)}", I think.`] },
  { name: 'JSON as it was', content: records, sent: [records] },
  { name: 'JSON with other indentation', content: records, sent: [JSON.stringify(people, null, 2)] },
  { name: 'JSON with other keys', content: records, sent: [JSON.stringify(renamed)] },
  {
    name: 'JSON inside a sentence',
    content: records,
    sent: [`The answer was:\n${records}\nand that is all.`],
  },
  {
    name: 'JSON inside a string',
    content: records,
    sent: [JSON.stringify({ body: JSON.stringify({ records }) })],
  },
  { name: 'JSON that begins anywhere', content: records, sent: [records.slice(1234, 4321)] },
  { name: 'lines of JSON', content: records, sent: [people.map((it) => JSON.stringify(it)).join('\n')] },
  { name: 'as Python', content: records, sent: [records.replaceAll('"', "'").replaceAll(',', ', ')] },
  { name: 'as CSV', content: records, sent: [rows.map((row) => row.join(',')).join('\n')] },
  {
    name: 'as CSV in quotes',
    content: records,
    sent: [rows.map((row) => `"${row.join('","')}"`).join('\r\n')],
  },
  {
    name: 'as YAML',
    content: records,
    sent: [labelled('- id: ', '\n  name: ', '\n  mail: ', '\n  balance: ')],
  },
  {
    name: 'as a list',
    content: records,
    sent: [labelled('* **No:** ', ', **Full name**: ', ', Mail: ', ', Euro: ')],
  },
  {
    name: 'as a list in JSON',
    content: records,
    sent: [JSON.stringify({ text: labelled('\n\n- Id: ', '\nName: ', '\nTo: ', '\nEur: ') })],
  },
  { name: 'as a table', content: records, sent: [rows.map((row) => `| ${row.join(' | ')} |`).join('\n')] },
  {
    name: 'in sentences',
    content: records,
    sent: [rows.map(([id, ...row]) => `${id} (${row.join(', ')})`).join('; ')],
  },
  { name: 'as an object by its first values', content: csvOf(rows), sent: [JSON.stringify(byIdOf(rows))] },
];

function piecesOf(text: string): [string, string][] {
  return (text.match(/.{1,60}/g) ?? []).map((piece) => [piece, '']);
}

function labelled(...labels: readonly string[]): string {
  return rows.map((row) => row.map((value, at) => `${labels[at]}${value}`).join('')).join('\n');
}

function csvOf(table: readonly (readonly (string | number)[])[]): string {
  return table.map((row) => row.join(';')).join('\n');
}

function byIdOf(table: readonly (readonly (string | number)[])[]): object {
  return Object.fromEntries(table.map(([id, ...row]) => [`${id}`, row]));
}

t.test('what was read is known again', async (t) => {
  for (const { name, content, sent } of wrappings) {
    const count = shared(read(content), write(...sent));
    t.ok(count >= 3, `${name}: ${count}`);
  }
});

t.test('of values in another wrapping most is known again', async (t) => {
  const known = read(records);
  for (const name of [
    'JSON with other keys',
    'JSON inside a string',
    'as CSV',
    'as a table',
    'as a list',
    'as Python',
  ])
    t.ok(
      shared(known, write(...(wrappings.find((it) => it.name === name)?.sent ?? []))) > 0.9 * known.length,
      name,
    );
});

t.test('a quote has the promised shingles, wherever it stands in however long a text', async (t) => {
  const lengthOf = (text: string): number => text.replace(/[^a-z0-9]/g, '').length;
  const promised = fc.property(
    fc.nat(),
    fc.integer({ min: 200, max: 300_000 }),
    fc.integer({ min: 200, max: 2000 }),
    fc.double({ min: 0, max: 1, noNaN: true }),
    (seed, size, quoteSize, place) => {
      const text = proseOf(size, seed);
      const start = Math.floor(place * Math.max(0, size - quoteSize));
      const quote = text.slice(start, start + quoteSize);
      const window = Math.max(windowMin, lengthOf(text) / 1900);
      const count = shared(
        read(text),
        write(`${proseOf(500, seed + 1)}: ${quote}; ${proseOf(500, seed + 2)}`),
      );
      return count >= Math.floor((lengthOf(quote) - 31) / window);
    },
  );
  t.doesNotThrow(() => fc.assert(promised, { numRuns: 150 }));
  for (const [kilobytes, length, least] of [
    [95, 200, 3],
    [300, 200, 1],
    [225, 400, 3],
    [680, 400, 1],
    [350, 600, 3],
    [1024, 600, 1],
  ] as const) {
    const text = proseOf(kilobytes * 1024, kilobytes);
    const known = read(text);
    let leastFound = Number.POSITIVE_INFINITY;
    for (let start = 0; start < text.length - length; start += 9973)
      leastFound = Math.min(leastFound, shared(known, write(text.slice(start, start + length))));
    t.ok(leastFound >= least, `${leastFound} of ${length} characters of ${kilobytes} KB`);
  }
});

t.test('a long write is still compared with all that was read', async (t) => {
  const bounded = createShingler(key, { readMax: 50, writeMax: 200, bytesMax: 1 << 20 });
  const known = bounded.ofRead([Buffer.from(proseOf(20_000))]);
  const sent = bounded.ofWrite([Buffer.from(proseOf(90_000, 2) + proseOf(20_000))]);
  t.ok(known.length > 30 && known.length <= 50, `${known.length}`);
  t.ok(sent.length > 120 && sent.length <= 200, `${sent.length}`);
  t.ok(shared(known, sent) > 10, 'the end is not cut off');
});

t.test('a quote is known again behind megabytes of padding, and where two pieces meet', async (t) => {
  const known = read(prose);
  const quote = prose.slice(2000, 2600);
  for (const padding of [proseOf(1_100_000, 99), ' '.repeat(3_000_000)])
    t.ok(shared(known, write(`${padding}${quote}`)) >= 3);
  for (let at = (1 << 20) - 600; at < 1 << 20; at += 150)
    t.ok(shared(known, write(`${' '.repeat(at)}${quote}${' '.repeat(600)}`)) >= 3, `from ${at} on`);
  t.ok(shared(known, write('x'.repeat(1 << 20), quote)) >= 3, 'in another form of the body');
});

t.test('the signs of Latin-1 are none of its letters', async (t) => {
  const sent = Buffer.from(prose.replaceAll(' ', '\xa0'), 'latin1');
  t.ok(shared(read(prose), shingler.ofWrite([sent])) > 50);
});

t.test('a content has no more shingles than the bounds allow, and no two of the same', async (t) => {
  const hostile = Buffer.concat([randomBytes(1 << 20), Buffer.from('beyond')]);
  for (const [readMax, writeMax, bytesMax] of [
    [4096, 32_768, 1 << 20],
    [7, 9, 1 << 20],
    [1, 1, 5000],
    [0, 0, 5000],
    [4096, 4096, 31],
    [4096, 4096, 0],
  ] as const) {
    const bounded = createShingler(key, { readMax, writeMax, bytesMax });
    for (const texts of [[hostile], [hostile, hostile], [Buffer.from(prose), hostile], []]) {
      const [known, sent] = [bounded.ofRead(texts), bounded.ofWrite(texts)];
      const pieces = texts.reduce((sum, it) => sum + Math.ceil(it.length / 1_000_000), 0);
      t.ok(known.length <= readMax && sent.length <= pieces * writeMax, `${known.length} and ${sent.length}`);
      t.equal(new Set(sent).size, sent.length);
      if (bytesMax < 32) t.equal(known.length, 0);
    }
  }
  const bounded = createShingler(key, { readMax: 4096, writeMax: 4096, bytesMax: 1000 });
  const [before, after] = [prose.slice(0, 1000), prose.slice(1000)];
  t.same(bounded.ofRead([before, after].map((text) => Buffer.from(text))), read(before));
  t.throws(() => createShingler(key, { readMax: 40_000, writeMax: 1, bytesMax: 1 }));
  t.throws(() => createShingler(key, { readMax: 1, writeMax: 1, bytesMax: (1 << 20) + 1 }));
});

t.test('what was decoded from a content makes its sampling no thinner', async (t) => {
  const text = proseOf(64_000);
  const once = read(text);
  t.ok(shared(read(text, text.toUpperCase(), text.replaceAll(' ', '\t')), once) >= once.length - 1);
});

t.test('characters of other alphabets are letters', async (t) => {
  const russian =
    'Съешь ещё этих мягких французских булок, да выпей чаю; широкая электрификация южных губерний. ';
  const chinese =
    '天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜金生丽水玉出昆冈';
  for (const text of [russian, chinese]) {
    const known = read(text);
    t.ok(known.length >= 3);
    t.equal(shared(known, write(text.replace(/[\s,;.]/g, ' \n'))), known.length);
  }
});

const strangers = [
  prose,
  proseOf(6000, 99),
  records,
  'It was the season of fog; the boats stayed in the harbour, and the men mended their nets on the quay. '.repeat(
    3,
  ),
  'Quarterly revenue rose by four percent, driven by services, while hardware declined in all regions but one.',
  'export function sum(values) { let total = 0; for (const value of values) total += value; return total; }',
  randomBytes(3000).toString('hex'),
  randomBytes(3000).toString('base64'),
  Array.from({ length: 300 }, (_, at) => at * at).join(' '),
];

t.test('texts that have nothing to do with each other share nothing', async (t) => {
  for (const [at, text] of strangers.entries())
    for (const other of strangers.slice(at + 1)) t.equal(shared(read(text), write(other)), 0);
});

t.test('objects of the same keys share nothing by them', async (t) => {
  const listOf = (seed: number): string => {
    const words = proseOf(3000, seed).split(' ');
    return JSON.stringify(
      words.map((word) => ({
        fullRepositoryName: word,
        defaultBranchName: word.length,
        openIssuesCount: word,
      })),
    );
  };
  t.ok(read(listOf(1)).length > 50);
  t.equal(shared(read(listOf(1)), write(listOf(2))), 0);
});

t.test('what repeats a few letters has no shingles, and takes none from its neighbours', async (t) => {
  for (const dull of ['a', '0', 'ab-', '| --- ', '0.00,', 'false,', 'null\t', 'ÿ', '=', '{"a":0}', 'AAAA'])
    for (const sent of [write(dull.repeat(5000)), read(dull.repeat(5000))]) t.same([...sent], [], dull);
  const text = proseOf(2000);
  const amongDull = `${'0'.repeat(999)}${text}${'a'.repeat(999)}`;
  t.ok(shared(read(text), write(amongDull)) >= read(text).length - 2);
  t.ok(shared(read(amongDull), write(text)) >= read(text).length - 2);
});

t.test('a short text has a shingle from 32 letters on', async (t) => {
  const letters = prose.replace(/[^a-z]/g, '');
  t.equal(read(letters.slice(0, 31)).length, 0);
  t.equal(read(letters.slice(0, 32)).length, 1);
  t.equal(shared(read(letters.slice(0, 32)), write(letters.slice(0, 32))), 1);
});

t.test('shingles depend on the key', async (t) => {
  const other = createShingler(Buffer.alloc(32, 8));
  t.equal(shared(other.ofRead([Buffer.from(prose)]), write(prose)), 0);
  const same = createShingler(Buffer.alloc(32, 7));
  t.same(same.ofRead([Buffer.from(prose)]), read(prose));
  for (const length of [0, 16, 31, 33]) t.throws(() => createShingler(Buffer.alloc(length)));
});

t.test('no bytes are too strange', async (t) => {
  const size = 1 << 20;
  const strange: readonly (readonly [name: string, bytes: Buffer])[] = [
    ...[
      '{',
      'a: ',
      ': ',
      'abcdefgh',
      '"',
      "'",
      ':',
      '":',
      '" ',
      '":"',
      '"a":',
      '\\"',
      '[',
      '\0',
      ' ',
      '"\\',
      '"a b c" \t : ',
    ].map((text) => [JSON.stringify(text), Buffer.alloc(size, text)] as const),
    ['a period of eight letters', Buffer.from(`"a":${'abcdefgh'.repeat(size / 8)}`)],
    ['a label without beginning', Buffer.from(`${'. '.repeat(size / 2 - 1)}: `)],
    ['a quote without end', Buffer.from(`"${' '.repeat(size)}`)],
    ['a colon far off', Buffer.from(`"key"${' '.repeat(size)}:`)],
    ['a key without beginning', Buffer.from(`${'- '.repeat(size / 2)}":`)],
    ['a byte order mark', Buffer.from('\ufeff{"a":"b"}', 'utf16le')],
    ['broken UTF-8', Buffer.from('c328a0a1e28ca0f0288cbcfffe', 'hex')],
    ['all bytes', Buffer.from(Array.from({ length: size }, (_, at) => (at * at) >> 3))],
  ];
  for (const [name, bytes] of strange) {
    const [known, sent] = [shingler.ofRead([bytes]), shingler.ofWrite([bytes])];
    t.ok(known.length <= 4096 && sent.length <= 32_768, name);
    t.ok(
      shared(read(prose), shingler.ofWrite([bytes.subarray(0, 500_000), Buffer.from(prose)])) > 100,
      `beside ${name}`,
    );
  }
  const beside = fc.property(
    fc.uint8Array({ maxLength: 300 }),
    fc.uint8Array({ maxLength: 300 }),
    (before, after) => {
      const text = Buffer.concat([before, Buffer.from(`: ${prose.slice(0, 1000)}:`), after]);
      return shared(read(prose), shingler.ofWrite([text])) >= 20;
    },
  );
  t.doesNotThrow(() => fc.assert(beside));
});

t.test('what stands before in a text or was looked at before changes nothing', async (t) => {
  const known = read(prose);
  write(proseOf(200_000, 5));
  t.same(read(prose), known);
  t.equal(shared(known, write(records, prose, base64)), known.length);
});

t.test('shingles are read back from their text', async (t) => {
  for (const shingles of [read(prose), write(prose), read('')]) {
    const text = shinglesToText(shingles);
    t.equal(text.length, 8 * shingles.length);
    t.match(text, /^[\w-]*$/);
    t.same(shinglesFromText(text), shingles);
  }
  for (const text of ['A', 'AAAAAAA', 'AAAAAAAAA', 'AAAA AAA', 'AAAAAAA=', 'AAAAAA+/', 'AAAAAAAA\n'])
    t.equal(shinglesFromText(text).length, 0, JSON.stringify(text));
  t.ok(write(prose).every((shingle) => Number.isInteger(shingle) && shingle >= 0 && shingle < 2 ** 48));
});
