import t from 'tap';
import { pieceBytesMax } from '../../../src/inspect/kernel/kernel.ts';
import { beside, createMatcher } from '../../../src/inspect/match/matcher.ts';
import { standsAsWord } from '../../../src/inspect/match/token-start.ts';

/** A small generator of numbers below `n`, the same at every run. */
function seeded(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % n;
  };
}

/** A character for each byte, ASCII letters small. */
const folded = (bytes: Buffer): string =>
  bytes.toString('latin1').replace(/[A-Z]/g, (letter) => letter.toLowerCase());

function naiveHits(words: readonly string[], bytes: Buffer): string[] {
  const text = folded(bytes);
  const hits: string[] = [];
  for (const [index, word] of words.entries()) {
    const needle = folded(Buffer.from(word));
    for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1))
      hits.push(`${index}:${at}`);
  }
  return hits;
}

function hitsOf(words: readonly string[], bytes: Buffer): string[] {
  const hits: string[] = [];
  createMatcher(words).scan(bytes, (word, start) => hits.push(`${word}:${start}`));
  return hits;
}

const cases = [
  {
    name: 'finds a word at the start, in the middle and at the end',
    words: ['abcd'],
    text: 'abcd..abcd.abcd',
    want: ['0:0', '0:6', '0:11'],
  },
  {
    name: 'compares ASCII letters without case',
    words: ['Token'],
    text: 'TOKEN tOkEn',
    want: ['0:0', '0:6'],
  },
  {
    name: 'does not take signs for letters of the other case',
    words: ['a@b_', '[x]{'],
    text: 'a`b\x7f {X}[ A@B_',
    want: ['0:10'],
  },
  {
    name: 'compares bytes above 0x7f exactly',
    words: ['café'],
    text: 'CAFé cafÉ café',
    want: ['0:0', '0:12'],
  },
  {
    name: 'finds words that are prefixes of others',
    words: ['ab', 'abc', 'abcdef'],
    text: 'xabcdefx',
    want: ['0:1', '1:1', '2:1'],
  },
  {
    name: 'finds overlapping occurrences',
    words: ['aaaa', 'aa'],
    text: 'aaaaa',
    want: ['0:0', '0:1', '1:0', '1:1', '1:2', '1:3'],
  },
  {
    name: 'reports each index of a word that is given twice',
    words: ['xyz', 'xyz'],
    text: 'xyz',
    want: ['0:0', '1:0'],
  },
  { name: 'finds nothing in a text shorter than the word', words: ['abcdef'], text: 'abc', want: [] },
  { name: 'finds nothing in an empty text', words: ['ab'], text: '', want: [] },
  {
    name: 'finds nothing without words',
    words: [],
    text: 'a text of some length that is long enough',
    want: [],
  },
];

for (const { name, words, text, want } of cases) {
  t.test(name, (t) => {
    t.same(hitsOf(words, Buffer.from(text)).sort(), want.sort());
    t.end();
  });
}

t.test('agrees with a naive search on random words and texts at every alignment', (t) => {
  const random = seeded(1);
  const alphabets = ['ab', 'abAB', 'abc -', 'aA\u0080é', 'abcdefghij @`{[01_', '  \0`@'].map((letters) => [
    ...letters,
  ]);
  for (let round = 0; round < 120; round++) {
    const alphabet = alphabets[random(alphabets.length)] as string[];
    const letters = (length: number): string =>
      Array.from({ length }, () => alphabet[random(alphabet.length)]).join('');
    // Where all have six letters and more, fewer places of the text are looked at.
    const shortest = round % 2 === 0 ? 2 : 6;
    const words = Array.from({ length: 1 + random(40) }, () => letters(shortest + random(7)));
    const matcher = createMatcher(words);
    for (let offset = 0; offset < 9; offset++) {
      const text = Buffer.from(letters(random(90)));
      // What stands around the text in its memory must not count.
      const holder = Buffer.alloc(offset + text.length + 5, alphabet[0]);
      text.copy(holder, offset);
      const bytes = holder.subarray(offset, offset + text.length);
      const hits: string[] = [];
      matcher.scan(bytes, (word, start) => hits.push(`${word}:${start}`));
      const [got, want] = [hits.sort().join(), naiveHits(words, bytes).sort().join()];
      if (got !== want)
        return t.fail('a difference', { words, text: text.toString('latin1'), offset, got, want });
    }
  }
  t.pass('no difference');
  t.end();
});

t.test('carries thousands of phrases', (t) => {
  const phrases = Array.from({ length: 3000 }, (_, index) => `project ${index} of the secret division`);
  const text = Buffer.from(`about ${phrases[17]} and ${phrases[2999]?.toUpperCase()}.`);
  t.same(hitsOf(phrases, text).sort(), naiveHits(phrases, text).sort());
  t.end();
});

t.test('carries thousands of words of three letters', (t) => {
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  const words = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => `${a}${b}${c}`)));
  const text = Buffer.from('Zzyzx aaa, QED: the quick brown fox');
  t.same(hitsOf(words, text).sort(), naiveHits(words, text).sort());
  t.end();
});

t.test('asks whether to stop after a bounded number of comparisons', (t) => {
  // All have the same rare letters, so each place in the text is compared with all of them.
  const words = Array.from({ length: 1_000 }, () => 'qqqq');
  let hits = 0;
  createMatcher(words).scan(
    Buffer.alloc(100_000, 'q'),
    () => hits++,
    () => true,
  );
  t.ok(hits > 0 && hits < 10_000, `${hits} hits`);
  t.end();
});

t.test('reports hits in an order that is off by less than the longest word', (t) => {
  const words = ['ab', 'bcdefgh', 'hgfedcbabcdefgh'];
  const text = Buffer.from('hgfedcbabcdefghab'.repeat(200));
  let last = 0;
  createMatcher(words).scan(text, (_, start) => {
    t.ok(start > last - 15);
    last = start;
  });
  t.end();
});

t.test('matchers of any size take turns without seeing the words of another', async (t) => {
  const many = Array.from({ length: 4000 }, (_, index) => `word number ${index}`);
  const matchers = [['alpha'], ['beta', 'alpha'], many, ['gamma']].map((words) => ({
    words,
    matcher: createMatcher(words),
  }));
  const text = Buffer.from(`alpha beta ${many[3999]} gamma`.repeat(3));
  for (const { words, matcher } of [...matchers, ...matchers.toReversed()]) {
    const hits: string[] = [];
    matcher.scan(text, (word, start) => hits.push(`${word}:${start}`));
    t.strictSame(hits.sort(), naiveHits(words, text).sort());
  }
});

t.test('a scan within another one is refused, and harms none after it', async (t) => {
  const [outer, inner] = [createMatcher(['alpha']), createMatcher(['beta'])];
  const text = Buffer.from('alpha beta');
  t.throws(
    () => outer.scan(text, () => inner.scan(text, () => t.fail('not reached'))),
    'a scan began within another one',
  );
  let hits = 0;
  inner.scan(text, () => hits++);
  t.equal(hits, 1);
});

t.test('a thrown error ends a scan and nothing else', async (t) => {
  const matcher = createMatcher(['alpha']);
  const text = Buffer.from('alpha '.repeat(5));
  const stop = new Error('enough');
  t.throws(() =>
    matcher.scan(text, () => {
      throw stop;
    }),
  );
  let hits = 0;
  matcher.scan(text, () => hits++);
  t.equal(hits, 5);
});

t.test('texts longer than a piece of the kernel are seen whole', async (t) => {
  for (const words of [
    ['seam', 'x seam y'],
    ['x seam', 'x seam y'],
  ])
    for (let at = pieceBytesMax - 34; at < pieceBytesMax + 16; at++) {
      const text = Buffer.alloc(pieceBytesMax + 1000, '.');
      text.write('x seam y', at);
      t.strictSame(hitsOf(words, text).sort(), naiveHits(words, text).sort());
    }
});

t.test('refuses a word of less than two bytes', (t) => {
  t.throws(() => createMatcher(['ab', 'x']), RangeError);
  t.throws(() => createMatcher(['']), RangeError);
  t.end();
});

t.test('words that count as a whole are left out inside of other words, and nowhere else', async (t) => {
  const words = ['tax', 'id', 'nie'];
  const inner = createMatcher(words, { needs: new Map(words.map((word) => [word, beside.ends])) });
  const whole = createMatcher(words);
  const parts = [
    ...words,
    'Tax',
    'ID',
    'a',
    'Q',
    '7',
    ' ',
    '_',
    '\\n',
    '%3D',
    '\\u003d',
    'nr',
    'number',
    's',
    'é',
  ];
  let left = 0;
  for (let seed = 1; seed <= 400; seed++) {
    const text = Buffer.from(
      Array.from(
        { length: 60 },
        (_, at) => parts[(Math.imul(seed * 7919 + at * 104_729, 0x9e3779b1) >>> 8) % parts.length],
      ).join(''),
    );
    const told = new Set<string>();
    inner.scan(text, (word, start) => told.add(`${word}:${start}`));
    whole.scan(text, (word, start) => {
      const place = `${word}:${start}`;
      if (standsAsWord(text, start, start + (words[word] as string).length))
        t.ok(told.has(place), 'it is told');
      else if (!told.has(place)) left += 1;
      told.delete(place);
    });
    t.equal(told.size, 0, 'nothing else is told');
  }
  t.ok(left > 400, 'many are left out');
});
