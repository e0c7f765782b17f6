import { isDeepStrictEqual } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t, { type Test } from 'tap';
import { BodyReader, chunked, untilClose } from '../../../src/wire/http1/body.ts';
import { parseTrailers } from '../../../src/wire/http1/head.ts';
import { Random, randomChunks } from './random.ts';
import { refusalOf } from './refusal-of.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

/** What comes of a body that arrives in these pieces; `end` counts from its beginning. */
function readPieces(length: number, pieces: readonly string[]) {
  const reader = new BodyReader(length);
  let data = '';
  let end = 0;
  let rest = '';
  for (const piece of pieces) {
    const bytes = bytesOf(piece);
    const at = reader.read(bytes, 0, (part) => {
      data += part.toString('latin1');
    });
    end += at;
    rest += bytes.toString('latin1', at);
  }
  return { data, end, rest, trailers: reader.trailers, isDone: reader.isDone };
}

const readChunks = (...pieces: string[]) => readPieces(chunked, pieces);

function refuses(t: Test, pieces: readonly string[], name: string, isTooLarge = false): void {
  t.equal(refusalOf(() => readChunks(...pieces))?.isTooLarge, isTooLarge, name);
}

t.test('a body in chunks is the same wherever its bytes are cut', async (t) => {
  const seed = 20_261_121;
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  const next = 'GET /next HTTP/1.1\r\n\r\n0\r\n\r\n';
  let read = 0;
  for (let count = 0; count < 60; count++) {
    const { text, data, trailers } = randomChunks(random);
    const want = { data, end: text.length, rest: next, trailers: parseTrailers(trailers, 100), isDone: true };
    const whole = text + next;
    const ways = Array.from({ length: whole.length + 1 }, (_none, cut) => [
      whole.slice(0, cut),
      whole.slice(cut),
    ]);
    ways.push([...whole], whole.match(/.{1,3}/gs) ?? []);
    for (const pieces of ways) {
      const got = readChunks(...pieces);
      // One assertion for each way would be ten thousand.
      if (!isDeepStrictEqual(got, want)) t.same(got, want, JSON.stringify(pieces));
      read++;
    }
  }
  t.ok(read > 5_000, `read in ${read} ways`);
});

t.test('a body of a known length is the same wherever its bytes are cut', async (t) => {
  const data = '0\r\n\r\nab\r\n';
  for (let cut = 0; cut <= data.length + 3; cut++) {
    const whole = `${data}GET`;
    t.same(
      readPieces(data.length, [whole.slice(0, cut), whole.slice(cut)]),
      { data, end: data.length, rest: 'GET', trailers: [], isDone: true },
      `cut at ${cut}`,
    );
  }
  t.same(readPieces(0, ['GET']), { data: '', end: 0, rest: 'GET', trailers: [], isDone: true });
});

t.test('a body until the end of the connection takes everything and is never done', async (t) => {
  const pieces = ['a', '0\r\n\r\n', '', 'HTTP/1.1 200 OK\r\n\r\n'];
  const data = pieces.join('');
  t.same(readPieces(untilClose, pieces), { data, end: data.length, rest: '', trailers: [], isDone: false });
});

t.test('says where the end of the connection is the end of the body', async (t) => {
  const cases: [length: number, text: string, mayEndHere: boolean][] = [
    [0, '', true],
    [2, '', false],
    [2, 'a', false],
    [2, 'ab', true],
    [untilClose, '', true],
    [untilClose, 'a', true],
    [chunked, '', false],
    [chunked, '1\r\na', false],
    [chunked, '1\r\na\r\n', false],
    [chunked, '1\r\na\r\n0\r\n', false],
    [chunked, '1\r\na\r\n0\r\n\r', false],
    [chunked, '1\r\na\r\n0\r\n\r\n', true],
  ];
  for (const [length, text, mayEndHere] of cases) {
    const reader = new BodyReader(length);
    reader.read(bytesOf(text), 0, () => {});
    t.equal(reader.mayEndHere, mayEndHere, `${length}: ${JSON.stringify(text)}`);
  }
});

t.test('data is handed on once a read, as a view, without what stands around it', async (t) => {
  const bytes = bytesOf('head2\r\nab\r\n1;x\r\nc\r\n3\r\ndef\r\n0\r\nT: u\r\n\r\nnext');
  const parts: Buffer[] = [];
  const end = new BodyReader(chunked).read(bytes, 4, (data) => parts.push(data));
  t.same(
    parts.map((part) => part.toString()),
    ['abcdef'],
  );
  t.equal(parts[0]?.buffer, bytes.buffer, 'it is not copied');
  t.equal(bytes.toString('latin1', 0, 4), 'head', 'what stands before is untouched');
  t.equal(bytes.toString('latin1', end), 'next', 'so is what stands behind');
  const whole = Buffer.from('abc');
  new BodyReader(5).read(whole, 0, (data) =>
    t.equal(data, whole, 'a piece that is all data is handed on itself'),
  );
});

t.test('sizes of chunks that are accepted', async (t) => {
  const sizes = [
    ...[
      'a',
      'A',
      '0a',
      '00000000000a',
      'a;x',
      'a;x=y',
      'a;x=y;z',
      'a;x=""',
      'a;x="y z\t\\"\\\\;\xff"',
      'a;!=~;a=1',
    ],
  ];
  for (const size of sizes) {
    t.equal(readChunks(`${size}\r\n0123456789\r\n0\r\n\r\n`).data, '0123456789', JSON.stringify(size));
  }
  for (const last of ['0', '00', '000000000000', '0;x']) {
    t.equal(readChunks(`1\r\na\r\n${last}\r\n\r\n`).isDone, true, last);
  }
});

t.test('sizes of chunks that are refused', async (t) => {
  const sizes = [
    ...[
      '',
      ' ',
      ';',
      ';x',
      'x',
      'g',
      '0x1',
      '1h',
      '-1',
      '+1',
      '1.0',
      '1e',
      '1_0',
      '1,1',
      '1 1',
      ' 1',
      '\t1',
      '\x0b1',
    ],
    ...[
      '1 ',
      '1\t',
      '1 ;x',
      '1; x',
      '1;x =y',
      '1;x= y',
      '1;',
      '1;;x',
      '1;=y',
      '1;x=',
      '1;x=y=z',
      '1;x y',
      '1;x="',
      '1;x="y',
    ],
    ...[
      '1;x="y"z',
      '1;x="\\"',
      '1;x="\0"',
      '1;x=\x7f',
      '1;x=\xe4',
      '1;\xe4',
      '1\xa0',
      '\xb9',
      '1;x="a\rb"',
      '1;x=\ry',
      '1\r',
    ],
    ...['\r\n1', '1\n', '1;x="\r\n0\r\n\r\n"', '1;x\r0', '1\0', '0000000000001'],
  ];
  for (const size of sizes.filter((text) => text !== '1e')) {
    refuses(t, [`${size}\r\na\r\n0\r\n\r\n`], JSON.stringify(size));
  }
});

t.test('lines around chunks that are refused', async (t) => {
  const bodies = [
    // Bare LF, bare CR, and none at all, in each place where a line ends.
    ...[
      '1\na\r\n0\r\n\r\n',
      '1\r\na\n0\r\n\r\n',
      '1\r\na\r\n0\n\r\n',
      '1\r\na\r\n0\r\n\n',
      '1\r\na\r\n0\r\nA: b\n\r\n',
    ],
    ...[
      '1\r\na\r\n0\r\nA: b\r\n\n',
      '1\ra\r\n0\r\n\r\n',
      '1\r\na\r0\r\n\r\n',
      '1\r\na0\r\n\r\n',
      '1\r\n\na\r\n0\r\n\r\n',
    ],
    // Longer and shorter than their size.
    ...[
      '1\r\nab\r\n0\r\n\r\n',
      '2\r\na\r\n0\r\n\r\n',
      '1\r\na\r\n\r\n0\r\n\r\n',
      '1\r\na \r\n0\r\n\r\n',
      '0\r\n\r\r\n\r\n',
    ],
    // Trailers follow the rules of fields, and do not frame.
    ...[
      '0\r\nA\r\n\r\n',
      '0\r\n: b\r\n\r\n',
      '0\r\nA : b\r\n\r\n',
      '0\r\n A: b\r\n\r\n',
      '0\r\nA: b\r\n c\r\n\r\n',
    ],
    ...['0\r\nA: \0\r\n\r\n', '0\r\nContent-Length: 5\r\n\r\n', '0\r\ntransfer-encoding: chunked\r\n\r\n'],
  ];
  for (const body of bodies) {
    refuses(t, [body], JSON.stringify(body));
    refuses(t, [...body], `${JSON.stringify(body)} byte by byte`);
  }
});

t.test('what is read of a body in chunks is bounded', async (t) => {
  const inBothWays = (text: string, name: string, isAccepted: boolean) => {
    for (const pieces of [[text], [...text]]) {
      if (isAccepted) t.ok(readChunks(...pieces).end > 0, name);
      else refuses(t, pieces, name, true);
    }
  };
  const sizeLine = (bytes: number) => `1;x=${'y'.repeat(bytes - 6)}\r\n`;
  inBothWays(`${sizeLine(256)}a\r\n`, 'a size line of 256 bytes', true);
  inBothWays(sizeLine(257), 'a size line of 257 bytes', false);
  inBothWays('1'.repeat(257), 'a size line without an end', false);
  inBothWays(`1\r\na${'\r'.repeat(257)}`, 'no end behind a chunk', false);

  const trailers = (bytes: number) => `0\r\nA: ${'b'.repeat(bytes - 7)}\r\n\r\n`;
  inBothWays(trailers(16_384), 'trailers of 16 KiB', true);
  inBothWays(trailers(16_385), 'trailers of one byte more', false);
  inBothWays(`0\r\n${'A: b\r\n'.repeat(2_731)}`, 'trailers without an end', false);
  inBothWays(`0\r\n${'A'.repeat(16_385)}`, 'a trailer without an end', false);

  t.equal(readChunks(`0\r\n${'A:\r\n'.repeat(100)}\r\n`).trailers.length, 200, 'a hundred trailers');
  inBothWays(`0\r\n${'A:\r\n'.repeat(101)}\r\n`, 'a hundred and one', false);
  t.equal(readChunks('ffffffffffff\r\na').isDone, false, 'a size of twelve digits');
  refuses(t, ['1000000000000\r\n'], 'a size of thirteen digits');
});

t.test('refuses to be opened without a length', async (t) => {
  for (const length of [-1, Number.NaN, Number.NEGATIVE_INFINITY]) {
    t.throws(() => new BodyReader(length), `${length}`);
  }
});

t.test('keeps nothing of the buffers it has read', async (t) => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const readers = [new BodyReader(chunked), new BodyReader(chunked), new BodyReader(9_000_000)];
  const texts = ['80000\r\n', '0\r\nA: b\r\nC', 'a'];
  const read = readers.map((reader, i) => {
    const bytes = Buffer.alloc(1_000_000, 'a');
    bytes.write(texts[i] as string, bytes.length - (texts[i] as string).length);
    reader.read(bytes, i === 2 ? 0 : bytes.length - (texts[i] as string).length, () => {});
    return new WeakRef(bytes.buffer);
  });
  await new Promise(setImmediate);
  collectGarbage();
  t.same(
    read.map((buffer) => buffer.deref()),
    [undefined, undefined, undefined],
  );
  t.notOk(
    readers.some((reader) => reader.isDone),
    'the readers are still there',
  );
});
