import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { onePass } from '../../../src/inspect/decode/budget.ts';
import { blockDecoders, escapeDecoders } from '../../../src/inspect/decode/decoders.ts';
import { findEncodedRuns } from '../../../src/inspect/decode/runs.ts';
import { readTables } from '../../../src/inspect/decode/tables.ts';
import { decoderTable, unescapeText } from '../../../src/inspect/decode/unescape.ts';
import { pieceBytesMax } from '../../../src/inspect/kernel/kernel.ts';
import {
  blockBytes,
  blockFlags,
  nextDigit,
  type Outline,
  outlineOf,
  runKindBits,
  runKinds,
  stretchesOf,
  textFlags,
} from '../../../src/inspect/kernel/outline.ts';

type Flag = keyof typeof blockFlags;

/** A small generator of numbers below `n`, the same at every run. */
function seeded(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % n;
  };
}

/** Where the last byte of what a flag stands for is, byte by byte as the flag's docstring says it. */
const endsOf: Readonly<Record<Flag, (text: string) => number[]>> = {
  digit: (text) => [...text.matchAll(/\d/g)].map(({ index }) => index),
  number: (text) => runEnds(text.replace(/(?<=\d)[ .-]/g, '0'), /\d/, 8),
  encoded: (text) => runEnds(text, /[\w+/-]/, 20),
  rhythm(text) {
    const withDigit = new Set([...text.matchAll(/\d/g)].map(({ index }) => Math.floor(index / blockBytes)));
    const isNearDigit = (at: number): boolean =>
      [-1, 0, 1].some((offset) => withDigit.has(Math.floor(at / blockBytes) + offset));
    const isInRow = (at: number): boolean => text[at - 1] === text[at] && text[at + 1] === text[at];
    const signs = new Set([...text.matchAll(/[^0-9A-Za-z]/g)].map(({ index }) => index));
    return [...signs].filter((at) => {
      const comeEvery = (step: number, times: number): boolean => {
        for (let n = 0; n < times; n++)
          if (text[at - n * step] !== text[at] || isInRow(at - n * step)) return false;
        return at >= (times - 1) * step;
      };
      const isShort = comeEvery(2, 8) || comeEvery(3, 7) || comeEvery(4, 5);
      return isShort || (isNearDigit(at) && (comeEvery(5, 4) || comeEvery(9, 4)));
    });
  },
};

/** Of groups that have a letter and a digit in each two of them, which stand in the block where they end. */
function wideEnds(text: string, sign: string): number[] {
  const places = [...text.matchAll(new RegExp(`[${sign}]`, 'g'))].map(({ index }) => index);
  return places.filter((at, index) => {
    const period = at - (places[index - 1] as number);
    const times = period === 4 ? 5 : 3;
    if (!(period >= 4 && period <= 48)) return false;
    for (let n = 1; n < times; n++) if (places[index - n] !== at - n * period) return false;
    const groups = text.slice(at - 2 * period, at);
    const isOfToken = /^[\w+/=.:@-]+$/.test(groups.replaceAll(sign, ''));
    return isOfToken && /[a-z]/i.test(groups) && /\d/.test(groups.slice(-(at % blockBytes)));
  });
}

function runEnds(text: string, isIn: RegExp, length: number): number[] {
  let run = 0;
  return [...text].flatMap((character, at) => {
    run = isIn.test(character) ? run + 1 : 0;
    return run >= length ? [at] : [];
  });
}

/** The blocks that have a flag, told twice. */
function blocksWith(text: string, flag: Flag): { seen: number[]; wanted: number[] } {
  const { blocks } = outlineOf(Buffer.from(text, 'latin1'));
  const flags = Buffer.from(blocks.buffer);
  const wanted = new Set(endsOf[flag](text).map((at) => Math.floor(at / blockBytes)));
  const seen = [...flags.keys()].filter((index) => ((flags[index] as number) & blockFlags[flag]) !== 0);
  return { seen, wanted: [...wanted].sort((a, b) => a - b) };
}

const alphabets = [
  'ab1',
  'a-',
  'xy z',
  'a0 .-',
  'ab+/_-=~:. ',
  '\u00e9a\u0000\u0080 _',
  'abcdefgh_0123456789 ',
  'a1b2- -',
  'a\\b%c&d\x1b',
];

const kindsAt = ({ places }: Outline, start: number): number =>
  places.runs.reduce((kinds, run) => kinds | (run >>> runKindBits === start ? run & 15 : 0), 0);

for (const flag of Object.keys(blockFlags) as Flag[]) {
  t.test(`tells the blocks of ${flag} as a byte-wise search does`, async (t) => {
    const random = seeded(7);
    for (let round = 0; round < 400; round++) {
      const alphabet = alphabets[round % alphabets.length] as string;
      const text = Array.from({ length: random(300) }, () => alphabet[random(alphabet.length)]).join('');
      const { seen, wanted } = blocksWith(text, flag);
      if (seen.join() !== wanted.join()) return t.fail('a difference', { text, seen, wanted });
    }
    t.pass('no difference');
  });

  t.test(`tells the blocks of ${flag} across the seam of two pieces`, async (t) => {
    const things: Record<Flag, string> = {
      digit: '7',
      number: '4111 1111',
      encoded: 'abcdefghijklmnopqrst',
      rhythm: 'abcd-bcde-cdef-defg-efg7',
    };
    const filling = ' a bc def'.repeat(pieceBytesMax / 8);
    // The last blocks of a piece are looked at again as the first ones of the next.
    for (let back = -10; back < 5 * blockBytes; back += 3) {
      const text = `${filling.slice(0, pieceBytesMax - back)}\n${things[flag]}\nthe end`;
      const { seen, wanted } = blocksWith(text, flag);
      if (seen.join() !== wanted.join()) return t.fail('a difference', { back, seen, wanted });
    }
    t.pass('no difference');
  });
}

t.test('tells of the signs between groups of a token, wherever they stand', async (t) => {
  const group = 'k7fh2m q9wz4x p3vn8t r5yb6d';
  const random = seeded(3);
  for (let round = 0; round < 400; round++) {
    const alphabet = round % 2 === 0 ? 'ab1  -' : 'a1b2- -';
    const around = Array.from({ length: random(200) }, () => alphabet[random(alphabet.length)]).join('');
    const filled = round % 10 === 0 ? 'x'.repeat(pieceBytesMax - random(300)) + around : around;
    const text = `${filled} ${group} ${around}`;
    const { groups } = outlineOf(Buffer.from(text)).places;
    for (const at of [...' -'].flatMap((sign) => wideEnds(text, sign)))
      if (!groups.includes(at)) return t.fail('a difference', { text: text.slice(-500), place: at });
  }
  t.pass('no difference');
});

t.test('tells which signs stand anywhere in a text', async (t) => {
  const signs = {
    plus: '+',
    at: '@',
    parenthesis: '(',
    nonAscii: '\x80',
  } as const;
  for (const [name, sign] of Object.entries(signs) as [keyof typeof signs, string][]) {
    for (const at of [0, 15, 16, 63, 64, pieceBytesMax - 1, pieceBytesMax, 2.5 * pieceBytesMax]) {
      const bytes = Buffer.alloc(3 * pieceBytesMax, 'x');
      t.equal(outlineOf(bytes).flags & textFlags[name], 0);
      bytes.write(sign, at, 'latin1');
      t.not(outlineOf(bytes).flags & textFlags[name], 0, `${name} at ${at}`);
    }
  }
  for (let byte = 0; byte < 256; byte++) {
    const known = Object.entries(signs).filter(
      ([name, sign]) => sign.charCodeAt(0) === byte || (name === 'nonAscii' && byte >= 0x80),
    );
    const { flags } = outlineOf(Buffer.alloc(64, byte));
    const seen = Object.keys(signs).filter((name) => (flags & textFlags[name as keyof typeof signs]) !== 0);
    t.same(
      seen,
      known.map(([name]) => name).sort((a, b) => seen.indexOf(a) - seen.indexOf(b)),
      `byte ${byte}`,
    );
  }
});

t.test('tells which rare things begin anywhere in a text', async (t) => {
  const things = {
    override: ['\u202e'],
    cdata: ['<![CDATA['],
    encrypted: [`eyJ${'a'.repeat(40)}.${'b'.repeat(9)}..${'c'.repeat(20)}.d`],
    armour: ['-----BEGIN '],
    cell: ['<td>', '<TD ', '<th>'],
    values: ['VALUES (', 'Values(', 'values\n  ('],
    valueName: ['value"', 'values"'],
    transferField: ['Content-Transfer-Encoding', 'content-transfer-encoding', 'CONTENT-TRANSFER-ENCODING'],
    quotedWord: [`=4A${'b'.repeat(32)}=5F`, '=\nab=\r\n', '=41=42'],
    encodedWords: ['?= =?', '?=\r\n =?'],
    parameterPieces: ['*0=', '*0*='],
    ascii85: ['<~'],
    uuencode: ['\n`\nend', '\n\r\nend', '\n \nend'],
    grid: ['[[', '[ \n\t[', `[${' '.repeat(300)}[`],
  };
  for (const [name, texts] of Object.entries(things) as [keyof typeof things, readonly string[]][])
    for (const text of texts) {
      const ends = [0, 1, 15, 16, 63, 64].map((back) => pieceBytesMax - back - text.length);
      const seams = Array.from({ length: text.length + 1 }, (_, cut) => pieceBytesMax - cut);
      for (const at of [0, 15, 16, 50, 63, 64, ...ends, ...seams, 2.5 * pieceBytesMax]) {
        const bytes = Buffer.alloc(at + text.length + 40, 'x');
        bytes.write(text, at);
        if ((outlineOf(bytes).flags & textFlags[name]) === 0) t.fail(`${name} at ${at}`, { text });
      }
      t.not(outlineOf(Buffer.from(text)).flags & textFlags[name], 0, `${name} alone`);
    }
  const others = {
    override: ['\u202d'],
    cdata: ['<!CDATA['],
    encrypted: ['exJ', `eyJ${'a'.repeat(40)}.${'b'.repeat(40)}.${'c'.repeat(40)}`],
    cell: ['<tr>', '< td>'],
    values: ['VALUE (', 'values = ('],
    valueName: ['valued"', 'value', 'alue"'],
    armour: ['----BEGIN', '-----END'],
    transferField: ['content-transfer', 'transfer-en', 'transfer_encoding'],
    quotedWord: ['=41', '=4=41', '=41&b=41', `=4A${'b'.repeat(33)}=5F`],
    grid: ['[a[', '[]', '[ a'],
  };
  for (const [name, texts] of Object.entries(others) as [keyof typeof things, readonly string[]][])
    for (const text of texts) t.equal(outlineOf(Buffer.from(`${text} x`)).flags & textFlags[name], 0, text);
});

t.test('tells of every run that stands for text in base64, wherever it stands', async (t) => {
  const texts = [
    Buffer.from('password: hunter2'),
    Buffer.concat([Buffer.from('hunter2!'), Buffer.alloc(60, 0xff)]),
    Buffer.from('AKIAIOSFODNN7EXAMPLE'),
    Buffer.from('4111111111111111'),
    Buffer.from('\tPasswort für Jörg: ß?>~\r\n'),
    Buffer.from('пароль: 12345'),
    Buffer.from('密码是秘密的东西，不要说出去🔑🔑'),
    Buffer.from('hunter2 hunter3', 'utf16le'),
    Buffer.concat([Buffer.alloc(30, 0x01), Buffer.from('a token of text'), Buffer.alloc(30, 0xff)]),
  ];
  const places = [0, 1, 30, 44, 63, 64, 100];
  const behind = `${' '.repeat(1200)}${Buffer.from('password: hunter2').toString('base64')}`;
  // A piece ends there, and the next one has begun before.
  const seams = [0, 1024].flatMap((overlap) =>
    Array.from({ length: 120 }, (_, back) => pieceBytesMax - overlap - back),
  );
  for (const text of texts)
    for (const front of text.includes('!') ? [''] : ['', 'x', '/x', 'x_/'])
      for (const alphabet of ['base64', 'base64url'] as const)
        for (const at of [...places, ...(front.length < 2 && alphabet === 'base64' ? seams : [])]) {
          const run = front + text.toString(alphabet).replaceAll('=', '');
          const outline = outlineOf(Buffer.from(`${' '.repeat(at)}${run}=="${behind}`));
          const kinds = kindsAt(outline, at);
          if ((kinds & runKinds.text) === 0) t.fail('a text', { run, place: at });
        }
  const long = outlineOf(Buffer.alloc(3000, 'a'));
  t.equal(kindsAt(long, 0), 15, 'a long run may always be one');
  const names = ['ResponseContentLengthMismatchError', 'com/acme/app/issues/22257', 'I_rmYZpzGhFkaQuqAZt5'];
  for (const name of names) t.equal(outlineOf(Buffer.from(`${name} `)).places.runs.length, 0, name);
});

t.test('tells where the next digit stands', async (t) => {
  const random = seeded(11);
  for (let round = 0; round < 300; round++) {
    const text = Array.from({ length: random(400) }, () => (random(40) === 0 ? '7' : 'x')).join('');
    const bytes = Buffer.from(text);
    const from = random(bytes.length + 1);
    const to = from + random(bytes.length - from + 1);
    const at = text.indexOf('7', from);
    const wanted = at < 0 || at > to ? to : at;
    const seen = nextDigit(bytes, outlineOf(bytes), from, to);
    if (seen !== wanted) return t.fail('a difference', { text, from, to, seen, wanted });
  }
  t.pass('no difference');
});

t.test('a rhythm that ends before the digit behind it is told of the text, too', async (t) => {
  const rhythm = `${'x'.repeat(40)}-abcd-abcd-abcd-abcd`;
  for (const pad of [3, 4, 40]) {
    const { flags, blocks } = outlineOf(Buffer.from(`${rhythm}${'x'.repeat(pad)}7`));
    t.equal((blocks[0] as number) & blockFlags.rhythm, blockFlags.rhythm, `${pad} bytes before it`);
    t.equal(flags & blockFlags.rhythm, blockFlags.rhythm);
  }
  t.equal(outlineOf(Buffer.from(`${rhythm}${'x'.repeat(80)}7`)).flags & blockFlags.rhythm, 0, 'far from it');
});

t.test('what stands before and behind a text in its memory does not count', async (t) => {
  const holder = Buffer.from(`${'7@J'.repeat(40)}abc${'(1234567890\n'.repeat(9)}`);
  const { flags, blocks } = outlineOf(holder.subarray(120, 123));
  t.same([...blocks], [0]);
  for (const flag of Object.values(textFlags)) t.equal(flags & flag, 0);
  outlineOf(Buffer.alloc(3 * pieceBytesMax, '1'));
  t.same([...outlineOf(Buffer.from('abc')).blocks], [0], 'nor does the text before');
  t.same([...outlineOf(Buffer.alloc(0)).blocks], []);
});

t.test('stretches are wide enough, do not overlap, and stay within the text', async (t) => {
  const text = `${'x'.repeat(200)}7${'x'.repeat(300)}8${'x'.repeat(30)}9`;
  const outline = outlineOf(Buffer.from(text));
  const stretches = stretchesOf(outline, blockFlags.digit, text.length, { before: 100, after: 70 });
  t.same(stretches, [
    { from: 92, to: 326 },
    { from: 348, to: text.length },
  ]);
});

/** Parts of texts in which decoders find something, or nearly do. */
const parts = [
  ...[
    '\n',
    '\n',
    '\r\n',
    '\n  ',
    ' ',
    ' ',
    '"',
    ',',
    ';',
    '\t',
    '|',
    '-',
    '.',
    '<b>',
    '</i>',
    '<td>',
    '&amp;',
    '\\n',
    '%41',
  ],
  ...[
    'name',
    'name,id\n1,2\n',
    '|a|b|\n',
    'id',
    'Passport No',
    'hunter2',
    'aB3dE5gH',
    'my_Secret1isOut2',
    'ABCDEFGHIJ',
    'x',
    '|---|',
    '42',
    '73 6b',
    '115,107,',
  ],
  ...[
    '\u00ad',
    '\u0430pple',
    'p\u0430ssword',
    '\uff41',
    '1\u20131',
    '\u202eabc',
    '&#65;',
    '\\u0041',
    '\x1b[0m',
    '=41',
    '=\n',
  ],
  ...[
    '6d795f73656372657420',
    'bXlfc2VjcmV0X2lzX291dA==',
    'MFRGGZDFMZTWQ2LKNNWG23TPOA',
    'H4sIAAAAAAAAA8tOrVTIT1MoLQYAtn',
    '7f3a9c0b-1d2e',
  ],
];

/** Signs of literals and of further encodings, with words to stand between. */
const furtherParts = [
  ...[
    'ab',
    'cd_1',
    ' ',
    '\n',
    '"',
    "'",
    '+',
    '" + "',
    "'.\n'",
    '""',
    '" "',
    '||',
    '=',
    'a\u2011b',
    '\u0967',
    '1',
  ],
  ...['?= =?', '=?u?q?a?=', '*0=', 'a*0="b"; a*1="c"', '<~', '~>', '`\nend\n', 'begin 644 a\n', '#86)C\n'],
];

/** All places where something could be, told without a look at what is there. */
function everywhere(outline: Outline, bytes: Buffer): Outline {
  const all = (isOne: (byte: number) => boolean): Int32Array =>
    Int32Array.from([...bytes.keys()].filter((at) => isOne(bytes[at] as number)));
  const runs = [...bytes.toString('latin1').matchAll(/[\w+/-]{20,}/g)].map(
    ({ index }) => (index << runKindBits) | 15,
  );
  const codes = [...bytes.toString('latin1').matchAll(/[0-9a-fA-Fx ,:;.\t\r\n-]{37,}/g)].map(
    ({ index }) => index,
  );
  const breaks = all((byte) => byte === 0x0a);
  return {
    ...outline,
    places: {
      ...outline.places,
      runs: Int32Array.from(runs),
      escapes: all(
        (byte) =>
          byte >= 0xc0 || byte === 0x5c || byte === 0x25 || byte === 0x26 || byte === 0 || byte === 0x1b,
      ),
      cuts: breaks,
      headers: breaks.filter((at) => /[\w"'|)*? \t\x80-\xff]\r?$/.test(bytes.toString('latin1', at - 2, at))),
      markup: all((byte) => byte === 0x3c),
      codes: Int32Array.from(codes),
      seams: all((byte) => byte === 0x22 || byte === 0x27),
    },
  };
}

/** What all decoders find. */
function foundIn(bytes: Buffer, outline: Outline): unknown {
  const runs = findEncodedRuns(bytes, outline, onePass());
  const text = { bytes, outline, runs, runKinds: 15 };
  const blocks = blockDecoders.map(({ name, find }) =>
    [...find(text, onePass())]
      .filter((it) => !it.isGuess)
      .map((it) => [name, it.start, it.end, it.bytes.toString('hex')]),
  );
  const cells = readTables({ bytes, outline }, () => false, Buffer.from('\n'), onePass(), []);
  const unescaped = unescapeText(bytes, decoderTable(escapeDecoders), () => undefined, outline);
  return { blocks, cells: cells?.bytes().toString(), unescaped: unescaped?.bytes.toString('hex') };
}

t.test('of a long row of NUL only the ends may be something', async (t) => {
  for (const length of [3, 16, 17, 100, pieceBytesMax - 4]) {
    const bytes = Buffer.concat([Buffer.from('ab'), Buffer.alloc(length), Buffer.from('cd')]);
    const told = [...outlineOf(bytes).places.escapes];
    const all = Array.from({ length }, (_, at) => at + 2);
    t.same(told, all.length <= 16 ? all : [...all.slice(0, 8), ...all.slice(-8)], `${length}`);
  }
  const { escapes } = outlineOf(Buffer.alloc(10 * pieceBytesMax)).places;
  t.ok(escapes.length <= 100, `${escapes.length} of ten pieces, whose ends are no text`);
  const wide = Buffer.from('ghp_', 'utf16le');
  t.equal(outlineOf(wide).places.escapes.length, 4, 'UTF-16 has one at every letter');
});

t.test('decoders find nothing in other places than those that are told', async (t) => {
  const random = seeded(13);
  for (let round = 0; round < 1200; round++) {
    const some = round < 600 ? parts : furtherParts;
    const few = Array.from({ length: 2 + random(5) }, () => some[random(some.length)] as string);
    const text = Array.from({ length: 1 + random(60) }, () => few[random(few.length)]).join('');
    const before = round % 50 === 0 ? ' word'.repeat(pieceBytesMax / 5).slice(random(1300)) : '';
    const bytes = Buffer.from(before + text);
    const outline = outlineOf(bytes);
    const [seen, wanted] = [outline, everywhere(outline, bytes)].map((it) => foundIn(bytes, it));
    if (!isDeepStrictEqual(seen, wanted)) {
      t.same(seen, wanted, JSON.stringify(text));
      return;
    }
  }
  t.pass('no difference');
});

t.test('the kernel is what its source compiles to', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'postern-kernel-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const root = resolve(import.meta.dirname, '../../..');
  const compiled = join(directory, 'kernel.wasm');
  execFileSync(process.execPath, [
    resolve(root, 'node_modules/assemblyscript/bin/asc.js'),
    resolve(root, 'src/inspect/kernel/assembly/index.ts'),
    ...['--config', resolve(root, 'src/inspect/kernel/assembly/asconfig.json'), '--outFile', compiled],
  ]);
  t.ok(
    readFileSync(compiled).equals(readFileSync(resolve(root, 'src/inspect/kernel/kernel.wasm'))),
    'otherwise: npm run build:kernel',
  );
});
