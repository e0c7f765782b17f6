import t, { type Test } from 'tap';
import {
  findHeadEnd,
  type Head,
  isPersistent,
  parseRequestHead,
  parseResponseHead,
  parseTrailers,
} from '../../../src/wire/http1/head.ts';
import { Random } from './random.ts';
import { refusalOf } from './refusal-of.ts';

const fieldsMax = 100;
const request = (...lines: string[]) =>
  parseRequestHead(['GET / HTTP/1.1', ...lines, ''].join('\r\n'), fieldsMax);
const response = (...lines: string[]) =>
  parseResponseHead(['HTTP/1.1 200 OK', ...lines, ''].join('\r\n'), fieldsMax);

/** Refused as malformed, in words that quote nothing of it. */
function refuses(t: Test, parse: () => unknown, name: string, isTooLarge = false): void {
  const error = refusalOf(parse);
  t.equal(error?.isTooLarge, isTooLarge, name);
  t.match(error?.message, /^[A-Z][a-z` ]+\.$/, `${name}: the words`);
}

t.test('the end of a head is where a plain search finds it, from any place in any text', async (t) => {
  const random = new Random(20_261);
  const wrong: string[] = [];
  for (let i = 0; i < 5_000; i++) {
    const text = random.text(random.pick(['\r\n', '\r\na', '\r\n\r\nabcdef']), random.below(24));
    const from = random.below(text.length + 1);
    const found = findHeadEnd(Buffer.from(text), from);
    if (found !== text.indexOf('\r\n\r\n', Math.max(0, from - 3))) wrong.push(JSON.stringify([text, from]));
  }
  t.same(wrong, []);
});

t.test('the end of a head is found wherever the bytes are cut', async (t) => {
  const head = 'GET / HTTP/1.1\r\nA: b\r\n\r\n';
  const bytes = Buffer.from(`${head}\r\n\r\nbody\r\n\r\n`);
  for (let cut = 0; cut <= head.length; cut++) {
    const first = findHeadEnd(bytes.subarray(0, cut), 0);
    t.equal(first, cut < head.length ? -1 : head.length - 4, `first look at ${cut} bytes`);
    t.equal(findHeadEnd(bytes, Math.min(cut, head.length - 1)), head.length - 4, `second look from ${cut}`);
  }
  for (let end = 1, from = 0; end < head.length; from = end++) {
    t.equal(findHeadEnd(bytes.subarray(0, end), from), -1, `byte by byte, ${end}`);
  }
});

t.test('only two whole line ends are the end of a head', async (t) => {
  for (const end of ['\n\n', '\r\r', '\r\n\n', '\n\r\n', '\r\n\r', '\r\n \r\n', '\r\n\0\r\n']) {
    t.equal(findHeadEnd(Buffer.from(`GET / HTTP/1.1\r\nA: b${end}x`), 0), -1, JSON.stringify(end));
  }
});

t.test('request lines that are accepted', async (t) => {
  const cases: [line: string, method: string, target: string, isHttp10?: boolean][] = [
    ['GET / HTTP/1.1', 'GET', '/'],
    ['GET / HTTP/1.0', 'GET', '/', true],
    ['get / HTTP/1.1', 'get', '/'],
    ['OPTIONS * HTTP/1.1', 'OPTIONS', '*'],
    ['CONNECT h:443 HTTP/1.1', 'CONNECT', 'h:443'],
    ['GET http://h/a?b#c HTTP/1.1', 'GET', 'http://h/a?b#c'],
    ["M-SEARCH!#$%&'*+.^_`|~09 /~ HTTP/1.1", "M-SEARCH!#$%&'*+.^_`|~09", '/~'],
    [`${'M'.repeat(32)} / HTTP/1.1`, 'M'.repeat(32), '/'],
    ['GET HTTP/1.1 HTTP/1.1', 'GET', 'HTTP/1.1'],
    ['GET /"<>\\^`{|}%0d%0a HTTP/1.1', 'GET', '/"<>\\^`{|}%0d%0a'],
    ['GET /\xc3\xa4?\xe4=\x80\xff HTTP/1.1', 'GET', '/%C3%A4?%E4=%80%FF'],
  ];
  for (const [line, method, target, isHttp10 = false] of cases) {
    t.match(parseRequestHead(`${line}\r\n`, fieldsMax), { method, target, isHttp10, fields: [] }, line);
  }
});

t.test('request lines that are refused', async (t) => {
  const lines = [
    ...['', ' ', 'GET', 'GET /', 'GET / ', 'GET HTTP/1.1', 'GET  HTTP/1.1', ' / HTTP/1.1'],
    // RFC 9112, 2.2 would have empty lines before it skipped: whoever sends them counts its bodies differently than we do.
    ...[
      '\r\nGET / HTTP/1.1',
      '\nGET / HTTP/1.1',
      '\rGET / HTTP/1.1',
      '\0GET / HTTP/1.1',
      '\ufeffGET / HTTP/1.1',
    ],
    ...[' GET / HTTP/1.1', 'GET  / HTTP/1.1', 'GET /  HTTP/1.1', 'GET / HTTP/1.1 ', 'GET / a HTTP/1.1'],
    ...['GET\t/ HTTP/1.1', 'GET /\tHTTP/1.1', 'GET / HTTP/1.1\t', 'GET\x0b/ HTTP/1.1', 'GET /\x0c HTTP/1.1'],
    ...[
      'GET /\0 HTTP/1.1',
      'GET /\x01 HTTP/1.1',
      'GET /\x7f HTTP/1.1',
      'GET /\ra HTTP/1.1',
      'GET /\na HTTP/1.1',
    ],
    ...['G\xc9T / HTTP/1.1', 'GET: / HTTP/1.1', 'G(T / HTTP/1.1', 'G"T / HTTP/1.1', 'GET, / HTTP/1.1'],
    ...['GET\xa0/ HTTP/1.1', `${'M'.repeat(33)} / HTTP/1.1`, 'GET /\u0100 HTTP/1.1', 'GET / HTTP/1.1\r'],
    ...[
      'GET / http/1.1',
      'GET / HTTP/1.2',
      'GET / HTTP/2.0',
      'GET / HTTP/0.9',
      'GET / HTTP/1',
      'GET / HTTP/1.',
    ],
    ...[
      'GET / HTTP/01.1',
      'GET / HTTP/1.01',
      'GET / HTTP/1.10',
      'GET / HTTP/1,1',
      'GET / HTTPS/1.1',
      'GET / HTTP 1.1',
    ],
    ...['GET / HTTP/-1.1', 'GET / HTTP/1.+1', 'GET / HTTP/1.\xb9', 'PRI * HTTP/2.0', 'HTTP/1.1 200 OK'],
  ];
  for (const line of lines)
    refuses(t, () => parseRequestHead(`${line}\r\n`, fieldsMax), JSON.stringify(line));
  for (const end of ['', '\r', '\n', '\n\r', '\r\r\n']) {
    refuses(t, () => parseRequestHead(`GET / HTTP/1.1${end}`, fieldsMax), JSON.stringify(end));
  }
});

t.test('status lines that are accepted', async (t) => {
  const cases: [line: string, status: number, isHttp10?: boolean][] = [
    ['HTTP/1.1 200 OK', 200],
    ['HTTP/1.0 404 Not Found', 404, true],
    ['HTTP/1.1 100 Continue', 100],
    ['HTTP/1.1 999 ', 999],
    ['HTTP/1.1 204', 204],
    ['HTTP/1.1 200 \tOK: \xe4\x80 ', 200],
  ];
  for (const [line, status, isHttp10 = false] of cases) {
    t.match(parseResponseHead(`${line}\r\n`, fieldsMax), { status, isHttp10, fields: [] }, line);
  }
});

t.test('status lines that are refused', async (t) => {
  const lines = [
    ...[
      '',
      'HTTP/1.1',
      'HTTP/1.1 ',
      'HTTP/1.1 OK',
      'HTTP/1.1 20',
      'HTTP/1.1 2000',
      'HTTP/1.1 20O',
      'HTTP/1.1 -20',
    ],
    ...[
      'HTTP/1.1 099 OK',
      'HTTP/1.1 000 OK',
      'HTTP/1.1 2e1 OK',
      'HTTP/1.1 200OK',
      'HTTP/1.1 200\tOK',
      'HTTP/1.1\t200 OK',
    ],
    ...[
      'HTTP/1.1  200 OK',
      ' HTTP/1.1 200 OK',
      '\r\nHTTP/1.1 200 OK',
      '\nHTTP/1.1 200 OK',
      'http/1.1 200 OK',
    ],
    ...[
      'HTTP/2.0 200 OK',
      'HTTP/2 200',
      'HTTP/0.9 200 OK',
      'HTTP/1.2 200 OK',
      'ICY 200 OK',
      'GET / HTTP/1.1',
    ],
    ...[
      'HTTP/1.1 200 O\0K',
      'HTTP/1.1 200 O\rK',
      'HTTP/1.1 200 O\nK',
      'HTTP/1.1 200 \x7f',
      'HTTP/1.1 200 \x0b',
    ],
  ];
  for (const line of lines)
    refuses(t, () => parseResponseHead(`${line}\r\n`, fieldsMax), JSON.stringify(line));
});

t.test('field lines that are accepted', async (t) => {
  const cases: [line: string, name: string, value: string][] = [
    ['A: b', 'A', 'b'],
    ['A:b', 'A', 'b'],
    ['A:', 'A', ''],
    ['A: \t ', 'A', ''],
    ['A: \t b \t c \t ', 'A', 'b \t c'],
    ['A:: b:', 'A', ': b:'],
    ['A: "\\x",;=()', 'A', '"\\x",;=()'],
    ['A: \xa0\x85\xff\x80', 'A', '\xa0\x85\xff\x80'],
    ["!#$%&'*+-.^_`|~09azAZ: 1", "!#$%&'*+-.^_`|~09azAZ", '1'],
    ['__proto__: x', '__proto__', 'x'],
    ['content-LENGTH_: 1_0', 'content-LENGTH_', '1_0'],
    [`A: ${'b'.repeat(60_000)}`, 'A', 'b'.repeat(60_000)],
  ];
  for (const [line, name, value] of cases) {
    const shown = JSON.stringify(line.slice(0, 40));
    t.same(request(line).fields, [name, value], shown);
    t.same(response(line).fields, [name, value], `${shown} in an answer`);
    t.same(parseTrailers(`${line}\r\n`, fieldsMax), [name, value], `${shown} as a trailer`);
  }
  t.same(request('B: 1', 'a: 2', 'B: 3').fields, ['B', '1', 'a', '2', 'B', '3'], 'in their order and casing');
});

t.test('field lines that are refused', async (t) => {
  const lines = [
    // Names (RFC 9112, 5.1: no white space before the colon).
    ...[
      'A',
      ':',
      ': b',
      ' : b',
      'A : b',
      'A\t: b',
      'A\xa0: b',
      'A\x0b: b',
      'A\0: b',
      'A B: c',
      'A\xe4: b',
      'A\x7f: b',
    ],
    ...[
      'A(: b',
      'A/: b',
      'A,: b',
      'A;: b',
      'A=: b',
      'A@: b',
      'A[: b',
      'A{: b',
      'A": b',
      'A\\: b',
      '\ufeffA: b',
      '\u0130: b',
    ],
    // Folded lines (RFC 9112, 5.2), and others that begin with white space.
    ...['A: b\r\n c', 'A: b\r\n\tc', 'A: b\r\n c: d', ' A: b', '\tA: b', 'A: b\r\n ', 'A:\r\n b'],
    // Line ends (RFC 9112, 2.2).
    ...[
      'A: b\nC: d',
      'A: b\rC: d',
      'A: b\r\r\nC: d',
      'A: b\n\rC: d',
      'A: b\r',
      'A: b\n',
      '\rA: b',
      '\nA: b',
      '\r\nA: b',
    ],
    // Values (RFC 9110, 5.5).
    ...[
      'A: \0',
      'A: b\0c',
      'A: \x01',
      'A: \x08',
      'A: \x0b',
      'A: \x0c',
      'A: b\x1b',
      'A: \x1f',
      'A: \x7f',
      'A: \u0100',
    ],
  ];
  for (const line of lines) {
    refuses(t, () => request(line), JSON.stringify(line));
    refuses(t, () => request('X: y', line, 'Z: 1'), `${JSON.stringify(line)} between others`);
    refuses(t, () => response(line), `${JSON.stringify(line)} in an answer`);
    refuses(t, () => parseTrailers(`${line}\r\n`, fieldsMax), `${JSON.stringify(line)} as a trailer`);
  }
  refuses(t, () => parseTrailers('A: b', fieldsMax), 'a last line without its end');
});

t.test('the length is told in one way only', async (t) => {
  const accepted: [lines: string[], contentLength: number, isChunked?: boolean][] = [
    [[], -1],
    [['Content-Length: 0'], 0],
    [['content-length:7 '], 7],
    [['CONTENT-LENGTH: 0010'], 10],
    [['Content-Length: 999999999999999'], 999_999_999_999_999],
    [['Transfer-Encoding: chunked'], -1, true],
    [['TRANSFER-ENCODING:  Chunked  '], -1, true],
    [['Content-Length_: 1', 'Content_Length: 2', 'X-Content-Length: 3', 'Content-Lengt\u0068s: 4'], -1],
    [['Connection: content-length, transfer-encoding', 'Content-Length: 5'], 5],
    [['Connection: transfer-encoding', 'Transfer-Encoding: chunked'], -1, true],
  ];
  for (const [lines, contentLength, isChunked = false] of accepted) {
    t.match(request(...lines), { contentLength, isChunked }, lines.join(' | '));
    t.match(response(...lines), { contentLength, isChunked }, `${lines.join(' | ')} in an answer`);
  }
  const lengths = [
    ...[
      '',
      '-1',
      '+1',
      '-0',
      '1.0',
      '1e3',
      '0x10',
      '10h',
      '1_0',
      '1 0',
      '1,',
      ',1',
      '1,1',
      '1, 1',
      '1;',
      '"1"',
      '1;a=b',
    ],
    ...['\xa01', '1\xa0', '\xb2', 'chunked', 'NaN', 'Infinity', '1000000000000000', '0000000000000001'],
  ];
  const codings = [
    ...[
      '',
      'identity',
      'gzip',
      'gzip, chunked',
      'chunked, gzip',
      'chunked, chunked',
      'chunked, identity',
      'chunked,',
    ],
    ...[
      ',chunked',
      'chunked;q=1',
      '"chunked"',
      'xchunked',
      'chunkedx',
      'chunke',
      'chun ked',
      'chunked\xa0',
      '\xa0chunked',
    ],
    ...['\tchunked', 'chunked\t', 'chunked \t', 'chun\u212aed', 'c\xa0hunked'],
  ];
  const refused = [
    ...lengths.map((value) => [`Content-Length: ${value}`]),
    ...codings.map((value) => [`Transfer-Encoding: ${value}`]),
    ['Content-Length: 1', 'Content-Length: 1'],
    ['Content-Length: 1', 'content-length: 2'],
    ['Content-Length: 0', 'Content-Length: 0'],
    ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
    ['Transfer-Encoding: chunked', 'transfer-encoding: identity'],
    ['Transfer-Encoding: identity', 'Transfer-Encoding: chunked'],
    ['Transfer-Encoding:', 'Transfer-Encoding: chunked'],
    ['Transfer-Encoding: chunked', 'Content-Length: 0'],
    ['Content-Length: 5', 'Transfer-Encoding: chunked'],
    ['Content-Length: 5', 'Connection: content-length', 'Transfer-Encoding: chunked'],
  ];
  for (const lines of refused) {
    refuses(t, () => request(...lines), JSON.stringify(lines));
    refuses(t, () => response(...lines), `${JSON.stringify(lines)} in an answer`);
  }
  const chunked = 'Transfer-Encoding: chunked\r\n';
  refuses(t, () => parseRequestHead(`GET / HTTP/1.0\r\n${chunked}`, fieldsMax), 'chunked in HTTP/1.0');
  refuses(
    t,
    () => parseResponseHead(`HTTP/1.0 200 OK\r\n${chunked}`, fieldsMax),
    'a chunked answer in HTTP/1.0',
  );
  for (const line of ['Content-Length: 1', 'content-length: x', chunked.trim(), 'transfer-encoding: gzip']) {
    refuses(t, () => parseTrailers(`A: b\r\n${line}\r\n`, fieldsMax), `${line} in trailers`);
  }
});

t.test('Connection options are listed, and decide whether the connection lasts', async (t) => {
  const cases: [lines: string[], connection: string, persists: boolean][] = [
    [[], '', true],
    [['Connection: keep-alive'], ',keep-alive,', true],
    [['Connection: Keep-Alive'], ',keep-alive,', true],
    [['Connection: close'], ',close,', false],
    [['connection:\tCLOSE \t'], ',close,', false],
    [['Connection: Upgrade,\tclose ,TE'], ',upgrade,close,te,', false],
    [['Connection: keep-alive', 'Connection: close'], ',keep-alive,,close,', false],
    [['Connection: closed, not-close, close-d'], ',closed,not-close,close-d,', true],
    [['Connection: '], ',,', true],
    [['Connection: ,, , a'], ',,,,a,', true],
    [['Connection: \xa0close'], ',\xa0close,', true],
    [['Connection: close\xa0'], ',close\xa0,', true],
    [['Connection_: close', 'Proxy-Connection: close', 'Connections: close'], '', true],
  ];
  for (const [lines, connection, persists] of cases) {
    const head: Head = request(...lines);
    t.equal(head.connection, connection, JSON.stringify(lines));
    t.equal(isPersistent(head), persists, `${JSON.stringify(lines)}: lasts`);
  }
  const http10 = parseRequestHead('GET / HTTP/1.0\r\nConnection: keep-alive\r\n', fieldsMax);
  t.equal(isPersistent(http10), false, 'HTTP/1.0 does not last');
});

t.test('refuses one field too many', async (t) => {
  const lines = Array.from({ length: fieldsMax }, (_none, i) => `A${i}: b`);
  t.equal(request(...lines).fields.length, fieldsMax * 2);
  t.equal(response(...lines).fields.length, fieldsMax * 2);
  refuses(t, () => request(...lines, 'B: c'), 'in a request', true);
  refuses(t, () => response(...lines, 'B: c'), 'in an answer', true);
  refuses(t, () => parseTrailers(`${lines.join('\r\n')}\r\nB: c\r\n`, fieldsMax), 'in trailers', true);
  t.same(parseTrailers('', 0), [], 'none are not too many');
});

t.test('heads of a megabyte are read or refused in linear time', async (t) => {
  const million = 1_000_000;
  t.equal(request(`A: ${' '.repeat(million)}b`).fields[1], 'b');
  t.equal(request(`A: b${' \t'.repeat(million / 2)}`).fields[1], 'b');
  t.equal(request(`Connection: a${' '.repeat(million)}b`).connection.length, million + 4);
  t.equal(request(`Connection: ${', '.repeat(million / 2)}`).connection.length, million / 2 + 2);
  refuses(t, () => request(`Transfer-Encoding:${' '.repeat(million)}`), 'blanks for a coding');
  refuses(t, () => request(`Content-Length: ${'1'.repeat(million)}`), 'a length of a million digits');
  refuses(t, () => request(`${'a'.repeat(million)}\0`), 'a name');
  refuses(t, () => request(`A: ${'b'.repeat(million)}\0`), 'a value');
  refuses(t, () => request(`${'A:\r\n'.repeat(million / 4)}\0`), 'many lines');
  refuses(t, () => parseRequestHead(`GET /${'a'.repeat(million)}`, fieldsMax), 'a target without an end');
  refuses(
    t,
    () => parseResponseHead(`HTTP/1.1 200 ${' '.repeat(million)}`, fieldsMax),
    'a reason without an end',
  );
});
