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
  random.text('ab01\r\n:;\0\xff', random.below(countMax));

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
    const chunk = `x${randomData(random, 24)}`;
    const size = chunk.length.toString(16);
    const extension = random.pick(['', '', '', ';a', ';a=b', ';a="b \\" ;\xff";c']);
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
    const body = randomData(random, 24);
    return `${before}${name}:${random.pick(['', ' ', '  '])}${random.pick(['', '00'])}${body.length}${random.pick(['', ' ', '  '])}\r\n${after}\r\n${body}`;
  }
  const name = random.pick(['Transfer-Encoding', 'transfer-encoding', 'TRANSFER-ENCODING']);
  return `${before}${name}:${random.pick(['', ' ', '  '])}${random.pick(['chunked', 'Chunked'])}${random.pick(['', ' ', '  '])}\r\n${after}\r\n${randomChunks(random).text}`;
}

export function randomRequest(random: Random): string {
  const method = random.pick(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']);
  const target = random.pick(['/', '/a?b=c', '*', 'http://h/a', '//x', '/%00', '/a#b', '/"<>\\^`{|}']);
  return `${method} ${target} HTTP/1.1\r\nHost: h\r\n${randomRest(random)}`;
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
  return `${interim}HTTP/1.1 ${status}\r\n${randomRest(random)}`;
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
