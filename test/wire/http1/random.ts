/** Numbers that look random and are the same in every run (mulberry32), so that a failure can be repeated. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** An integer from 0 up to, but without, `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end;
  }

  chance(oneIn: number): boolean {
    return this.below(oneIn) === 0;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  /** `count` characters of `alphabet`. */
  text(alphabet: string, count: number): string {
    return Array.from({ length: count }, () => alphabet[this.below(alphabet.length)]).join('');
  }
}

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const nameChars = `${letters}0123456789!#$%&'*+-.^_\`|~`;
const valueChars = `${nameChars} \t"(),/:;<=>?@[]{}\\\x80\x85\xa0\xff`;

/** A body with the bytes of line ends and of chunk sizes in it: whoever looks for those in the wrong place finds them. */
const randomData = (random: Random, countMax: number): string =>
  random.text('ab01\r\n:;\0\xff', random.chance(6) ? 0 : random.below(countMax));

/** Now and then more than is sent together with its head. */
const bodyBytesMax = (random: Random): number => (random.chance(64) ? 40_000 : 24);

const fieldLine = (random: Random): string => {
  const blank = random.pick(['', ' ', '\t', '  \t']);
  const value = random.text(valueChars, random.below(12));
  return `X-${random.text(nameChars, 1 + random.below(6))}:${blank}${value}${random.pick(['', ' ', '\t'])}\r\n`;
};

const fieldLines = (random: Random, countMax: number): string =>
  Array.from({ length: random.below(countMax + 1) }, () => fieldLine(random)).join('');

/** A body in chunks, from the first size line to the empty line behind the trailers. */
export function randomChunks(random: Random): { text: string; data: string; trailers: string } {
  let text = '';
  let data = '';
  for (let count = random.below(5); count > 0; count--) {
    const chunk = `x${randomData(random, bodyBytesMax(random))}`;
    const size = chunk.length.toString(16);
    const extension = random.pick(['', '', '', ';a', ';a=b', ';a="b \\" ;\xff";c', ';a="0"']);
    text += `${random.pick(['', '0', '000'])}${random.chance(2) ? size : size.toUpperCase()}${extension}\r\n${chunk}\r\n`;
    data += chunk;
  }
  const trailers = fieldLines(random, 3);
  return { text: `${text}${random.pick(['0', '00', '0;end'])}\r\n${trailers}\r\n`, data, trailers };
}

/** The fields of a valid head, the empty line, and the body that they announce. */
function randomRest(random: Random): string {
  const before = fieldLines(random, 3);
  const after = fieldLines(random, 2);
  const framing = random.below(3);
  if (framing === 0) return `${before}${after}\r\n`;
  if (framing === 1) {
    const name = random.pick(['Content-Length', 'content-length', 'CONTENT-LENGTH']);
    const body = randomData(random, bodyBytesMax(random));
    return `${before}${name}:${random.pick(['', ' ', '  '])}${random.pick(['', '00'])}${body.length}${random.pick(['', ' ', '  '])}\r\n${after}\r\n${body}`;
  }
  const name = random.pick(['Transfer-Encoding', 'transfer-encoding', 'TRANSFER-ENCODING']);
  return `${before}${name}:${random.pick(['', ' ', '  '])}${random.pick(['chunked', 'Chunked'])}${random.pick(['', ' ', '  '])}\r\n${after}\r\n${randomChunks(random).text}`;
}

const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD', 'QUERY', 'PROPFIND', 'TRACE'];
const targets = [
  ...[
    '/',
    '/',
    '/a?b=c',
    '*',
    '//x',
    '/%00',
    '/a#b',
    '/"<>\\^`{|}',
    '/a/../b',
    '/a/%2e%2e/b;c',
    '?x',
    'a',
    '/%',
  ],
  ...[
    'http://h/a',
    'http://h',
    'http://h?b',
    'HTTP://h:80/',
    'http://u@h/',
    'ftp://h/',
    'h:80',
    '/\xe9',
    '/a b',
  ],
];

/** Well-formed fields that say something about the message, its connection or its path. */
const telling = [
  ...[
    'Expect: 100-continue',
    'Expect: 100-Continue, x',
    'Expect: something',
    'Upgrade: websocket',
    'Upgrade: h2c',
  ],
  ...['Connection: close', 'Connection: keep-alive', 'Connection: upgrade', 'Connection: host, x-a, cookie'],
  ...[
    'Connection: content-length',
    'Connection: transfer-encoding',
    'Connection: te, trailer',
    'Connection: ,',
  ],
  ...[
    'X-A: 1',
    'X-a: 2',
    'Cookie: a=1',
    'TE: trailers',
    'TE: chunked',
    'Trailer: X-A',
    'Keep-Alive: timeout=5',
  ],
  ...['Proxy-Connection: close', 'Proxy_Connection: close', 'Via: 1.0 x', 'HTTP2-Settings: AAMAAABkAAQ'],
  ...['Content_Length: 5', 'Content-Length_: 5', 'Transfer_Encoding: chunked', 'X-Service-Agent-Name: a'],
  ...[
    'Host: other',
    'Content-Type: text/plain',
    'Content-Encoding: gzip',
    'Max-Forwards: 0',
    'Sec-WebSocket-Key: a',
  ],
];

/** Fields that contradict what stands there already, or themselves. */
const contradicting = [
  ...[
    'Content-Length: 0',
    'Content-Length: 00',
    'Content-Length: 1',
    'Content-Length: 5',
    'Content-Length: 5, 5',
  ],
  ...[
    'Content-Length: +5',
    'Content-Length: -1',
    'Content-Length: 0x5',
    'Content-Length: 5 5',
    'Content-Length:',
  ],
  ...[
    'Content-Length: 99999999999',
    'Content-Length: 9007199254740993',
    'Content-Length: 18446744073709551621',
  ],
  ...['Content-Length: 4294967301', 'Content-Length:\x0b5', 'Content-Length:\xa05', 'Content-Length\t: 5'],
  ...[
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: Chunked',
    'Transfer-Encoding:chunked ',
    'Transfer-Encoding:',
  ],
  ...[
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: chunked, identity',
    'Transfer-Encoding: identity',
  ],
  ...['Transfer-Encoding: chunked;q=1', 'Transfer-Encoding: xchunked', 'Transfer-Encoding:\tchunked'],
  ...['Transfer-Encoding:\r\n chunked', 'Transfer-Encoding : chunked', 'Transfer-Encoding: "chunked"'],
  ...[
    'X-A: b\r\n c',
    'X-A: b\r\n\tTransfer-Encoding: chunked',
    'X-A: b\rContent-Length: 5',
    'X-A: b\nContent-Length: 5',
  ],
  ...['X-A: \0', ': x', 'X A: b', 'X-A', ' X-A: b', 'X-A\0: b', 'Host: h:80', 'Host:', 'Host: h, h'],
];

const lines = (random: Random, from: readonly string[], oneIn: number): string =>
  random.chance(oneIn) ? `${random.pick(from)}\r\n${lines(random, from, oneIn)}` : '';

/** Nearly always well-formed, with fields that tell something. */
export function randomRequest(random: Random): string {
  const target = random.chance(2) ? '/' : random.pick(targets);
  const version = random.chance(16) ? '1.0' : '1.1';
  const start = `${random.pick(methods)} ${target} HTTP/${version}\r\nHost: h\r\n`;
  return start + lines(random, telling, 3) + randomRest(random);
}

/** What one connection brings: some requests, most of them with a change, and a plain one behind them. */
export function randomConnection(random: Random): string {
  let text = '';
  for (let count = 1 + random.below(3); count > 0; count--) {
    let request = randomRequest(random);
    if (random.chance(3)) request = contradict(random, request);
    text += random.chance(2) ? mutate(random, request) : request;
  }
  return `${text}GET /next HTTP/1.1\r\nHost: h\r\n\r\n`;
}

/** Puts one more field behind any of the lines of a head. */
function contradict(random: Random, request: string): string {
  const ends = [...request.slice(0, request.indexOf('\r\n\r\n') + 2).matchAll(/\r\n/g)].map(
    ({ index }) => index + 2,
  );
  const at = random.pick(ends);
  return `${request.slice(0, at)}${random.pick(contradicting)}\r\n${request.slice(at)}`;
}

/** The same bytes, cut at random places, most of them within line ends; sometimes each byte by itself. */
export function cut(random: Random, bytes: Buffer): Buffer[] {
  if (random.chance(16) && bytes.length < 400) return Array.from(bytes, (byte) => Buffer.of(byte));
  const places = Array.from({ length: random.below(6) }, () => {
    const place = random.below(bytes.length + 1);
    const lineEnd = random.chance(3) ? -1 : bytes.indexOf('\r\n', place);
    return lineEnd < 0 ? place : Math.min(lineEnd + random.below(5), bytes.length);
  });
  const ends = [...places.sort((a, b) => a - b), bytes.length];
  return ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end)).filter((piece) => piece.length > 0);
}

export function randomResponse(random: Random): string {
  const interim = random.chance(8) ? `HTTP/1.1 103 Early Hints\r\n${fieldLines(random, 2)}\r\n` : '';
  const status = random.pick([
    '200 OK',
    '404 Not Found',
    '503 ',
    '200 \xe9t\xe9 \t',
    '299 !',
    '204 None',
    '304 ',
  ]);
  // A second answer, which nobody asked for.
  const behind = random.chance(8) ? 'HTTP/1.1 200 OK\r\nX-Behind: 1\r\n\r\n' : '';
  return `${interim}HTTP/1.1 ${status}\r\n${randomRest(random)}${behind}`;
}

const nasty = [
  ...['\r', '\n', '\r\n', '\n\n', '\r\r\n', '\r\n\r\n', '\0', '\x01', '\x0b', '\x0c', '\x1f', '\x7f'],
  ...['\x80', '\x85', '\xa0', '\xff', ' ', '\t', ',', ';', ':', '"', '=', '_', '+', '-', '0', '1', 'f', 'x'],
  ...[
    '0x',
    '1_0',
    ' \r\n',
    '\r\n ',
    '\r\n\t',
    ':\r\n',
    ' :',
    ';\r',
    ';a\n',
    'chunked',
    'gzip, ',
    ', chunked',
  ],
  ...['Content-Length: 1\r\n', 'Transfer-Encoding: chunked\r\n', 'Connection: content-length\r\n'],
  ...[
    'Content-Length:\t1\r\n',
    'Content-Length: 1\t\r\n',
    'Content-Length : 1\r\n',
    'Content-Length: 1, 1\r\n',
    'Transfer-Encoding: identity\r\n',
  ],
  ...[
    '0\r\n',
    '00\r\n\r\n',
    'ffffffff',
    '100000000',
    '10000000000000000',
    '-1\r\n',
    '+1',
    '5;\r\n',
    '5 ;a\r\n',
    '5;a="\r\n',
  ],
  ...[
    '\r\n0\r\nContent-Length: 5\r\n\r\n',
    '\r\n0\r\nX-A: b\r\n c\r\n\r\n',
    ' HTTP/1.1',
    'HTTP/1.0',
    'HTTP/2.0',
    'http/1.1',
  ],
  ...['Transfer-Encoding:\x0bchunked\r\n', 'Connection: transfer-encoding, close\r\n', '0\r\n\r\n'],
];

/** One to three changes, most of them where lines begin and end. */
export function mutate(random: Random, message: string): string {
  let text = message;
  for (let count = 1 + random.below(3); count > 0; count--) {
    let at = random.below(text.length + 1);
    if (random.chance(2)) {
      const boundaries = [...text.matchAll(/\r\n|[:;, ]/g)].map((match) => match.index);
      if (boundaries.length > 0) at = Math.max(0, random.pick(boundaries) + random.below(5) - 1);
    }
    const removed = random.pick([0, 0, 1, 1, 2, random.below(6)]);
    const added = random.chance(4) ? '' : random.pick(nasty);
    text = text.slice(0, at) + added + text.slice(at + removed);
  }
  return text;
}
