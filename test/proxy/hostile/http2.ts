import {
  ack,
  block,
  endHeaders,
  endStream,
  field,
  frame,
  headers,
  type Pair,
  padded,
  preface,
  reset,
  settings,
  windowUpdate,
  withPriority,
} from './frames.ts';
import { goodPath, type HostileInput, secureHost } from './input.ts';

/* HTTP/2 that is none, that HTTP/1.1 would read as something else, or that has no end. */

const method: Pair = [':method', 'GET'];
const scheme: Pair = [':scheme', 'https'];
const authority: Pair = [':authority', secureHost];
const path: Pair = [':path', '/hostile'];
const good = [method, scheme, authority, path] as const;

/** Heads of one request that ends with it. */
const heads: readonly [name: string, pairs: readonly Pair[]][] = [
  ['no :method', [scheme, authority, path]],
  ['no :path', [method, scheme, authority]],
  ['no :scheme', [method, authority, path]],
  ['two :method', [method, method, scheme, authority, path]],
  ['two :path', [method, scheme, authority, path, [':path', '/other']]],
  ['two :authority', [method, scheme, authority, [':authority', 'evil.test.example'], path]],
  ['two :scheme', [method, scheme, scheme, authority, path]],
  ['a pseudo-header that nobody knows', [...good, [':evil', '1']]],
  ['the pseudo-header of answers', [...good, [':status', '200']]],
  ['a pseudo-header behind a field', [method, scheme, authority, ['x-a', 'b'], path]],
  ['an empty :path', [method, scheme, authority, [':path', '']]],
  ['a :path without a slash', [method, scheme, authority, [':path', 'hostile']]],
  ['an asterisk for the :path of a GET', [method, scheme, authority, [':path', '*']]],
  ['a :path with a space', [method, scheme, authority, [':path', '/hostile HTTP/1.1']]],
  ['a :path with a tab', [method, scheme, authority, [':path', '/hostile\tx']]],
  ['a :path with a NUL', [method, scheme, authority, [':path', '/hostile\0x']]],
  [
    'a :path with a request in it',
    [method, scheme, authority, [':path', '/a HTTP/1.1\r\nHost: x\r\n\r\nGET /smuggled']],
  ],
  [
    'a :path that is a URL of another host',
    [method, scheme, authority, [':path', 'https://evil.test.example/']],
  ],
  ['an empty :method', [[':method', ''], scheme, authority, path]],
  ['a :method with a space', [[':method', 'GET /smuggled'], scheme, authority, path]],
  ['a :method with a line end', [[':method', 'GET\r\nX: y'], scheme, authority, path]],
  ['a :method half in lower case', [[':method', 'DELete'], scheme, authority, path]],
  [
    'a second tunnel',
    [
      [':method', 'CONNECT'],
      [':authority', 'evil.test.example:443'],
    ],
  ],
  ['a second tunnel with a path', [[':method', 'CONNECT'], scheme, authority, path]],
  [
    'a tunnel of a protocol that nobody knows',
    [[':method', 'CONNECT'], [':protocol', 'evil'], scheme, authority, path],
  ],
  ['a :protocol without CONNECT', [method, [':protocol', 'websocket'], scheme, authority, path]],
  ['another :scheme', [method, [':scheme', 'http'], authority, path]],
  ['a :scheme that is none', [method, [':scheme', 'https://evil.test.example/?'], authority, path]],
  ['another :authority', [method, scheme, [':authority', 'evil.test.example'], path]],
  [
    'a suffix that is not ours in :authority',
    [method, scheme, [':authority', `${secureHost}.evil.test.example`], path],
  ],
  ['another port in :authority', [method, scheme, [':authority', `${secureHost}:8443`], path]],
  [
    'user information in :authority',
    [method, scheme, [':authority', `${secureHost}@evil.test.example`], path],
  ],
  ['a line end in :authority', [method, scheme, [':authority', `${secureHost}\r\nX: y`], path]],
  ['a NUL in :authority', [method, scheme, [':authority', `${secureHost}\0`], path]],
  ['another Host', [...good, ['host', 'evil.test.example']]],
  ['another Host, and no :authority', [method, scheme, path, ['host', 'evil.test.example']]],
  ['two Hosts', [...good, ['host', secureHost], ['host', 'evil.test.example']]],
  ['a name in upper case', [...good, ['X-A', 'b']]],
  ['Connection', [...good, ['connection', 'keep-alive']]],
  ['Connection that names a field', [...good, ['connection', 'x-a'], ['x-a', 'b']]],
  ['Keep-Alive', [...good, ['keep-alive', 'timeout=5']]],
  ['Proxy-Connection', [...good, ['proxy-connection', 'keep-alive']]],
  ['Transfer-Encoding', [...good, ['transfer-encoding', 'chunked']]],
  ['Upgrade', [...good, ['upgrade', 'h2c']]],
  ['TE with another word than trailers', [...good, ['te', 'gzip']]],
  ['a length and no body', [...good, ['content-length', '5']]],
  ['a length that is none', [...good, ['content-length', 'abc']]],
  ['a negative length', [...good, ['content-length', '-1']]],
  ['two lengths', [...good, ['content-length', '0'], ['content-length', '1']]],
  ['two content types', [...good, ['content-type', 'text/plain'], ['content-type', 'text/html']]],
  ['an expectation that is none', [...good, ['expect', 'magic']]],
  ['an agent id that is none', [...good, ['x-service-agent-id', 'root']]],
  ['300 fields', [...good, ...Array.from({ length: 300 }, (_, i): Pair => [`x-${i}`, '1'])]],
];

/** Fields that HTTP/2 does not allow: nghttp2 leaves them out and passes the rest, so that they are neither judged nor sent. */
const unheard: readonly [name: string, pair: Pair][] = [
  ['a name with a space', ['x a', 'b']],
  ['a name with a colon', ['x:a', 'b']],
  ['a name with a line end', ['x-a\r\nx-b', 'c']],
  ['a name with a NUL', ['x\0a', 'b']],
  ['no name', ['', 'b']],
  ['a line end in a value', ['x-a', 'b\r\nx-c: d']],
  ['a bare LF in a value', ['x-a', 'b\nx-c: d']],
  ['a bare CR in a value', ['x-a', 'b\rx-c: d']],
  ['a NUL in a value', ['x-a', 'b\0c']],
  ['a whole request in a value', ['x-a', 'b\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x']],
];

const post = [[':method', 'POST'], scheme, authority, path] as const;
const open = headers(post, endHeaders);
const data = (text: string, flags = endStream, stream = 1): Buffer =>
  frame('data', flags, stream, Buffer.from(text));

/** Frames behind a good beginning. */
const frames: readonly [name: string, bytes: Buffer | (() => Buffer)][] = [
  [
    'a body longer than declared',
    Buffer.concat([headers([...post, ['content-length', '1']], endHeaders), data('ab')]),
  ],
  [
    'a body shorter than declared',
    Buffer.concat([headers([...post, ['content-length', '10']], endHeaders), data('ab')]),
  ],
  [
    'a body over the limit',
    Buffer.concat([headers([...post, ['content-length', '1000000000']], endHeaders), data('a', 0)]),
  ],
  ['a body that does not end', Buffer.concat([open, data('a', 0)])],
  ['a pseudo-header among the trailers', Buffer.concat([open, data('a', 0), headers([path])])],
  [
    'trailers that do not end the stream',
    Buffer.concat([open, data('a', 0), headers([['x-a', 'b']], endHeaders)]),
  ],
  ['data on the connection', data('a', endStream, 0)],
  ['data on a stream that is not open', data('a', endStream, 1)],
  [
    'data of padding alone, longer than its frame',
    Buffer.concat([open, frame('data', padded, 1, Buffer.from([200, 1]))]),
  ],
  ['a head on the connection', headers(good, endStream | endHeaders, 0)],
  ['a head on a stream of the server', headers(good, endStream | endHeaders, 2)],
  [
    'a head on a stream that was passed over',
    Buffer.concat([
      headers([method, scheme, [':authority', 'evil.test.example'], path], endStream | endHeaders, 3),
      headers(good),
    ]),
  ],
  [
    'a head that depends on itself',
    frame(
      'headers',
      endStream | endHeaders | withPriority,
      1,
      Buffer.concat([Buffer.from([0, 0, 0, 1, 15]), block(good)]),
    ),
  ],
  [
    'a head with padding longer than its frame',
    frame(
      'headers',
      endStream | endHeaders | padded,
      1,
      Buffer.concat([Buffer.from([255]), Buffer.from('a')]),
    ),
  ],
  ['a head that does not end, and then data', Buffer.concat([headers(good, endStream), data('a')])],
  [
    'a head that does not end, and then another one',
    Buffer.concat([headers(good, endStream), headers(good, endStream | endHeaders, 3)]),
  ],
  [
    'a head that is continued on another stream',
    Buffer.concat([headers(good, endStream), frame('continuation', endHeaders, 3, Buffer.alloc(0))]),
  ],
  ['a continuation of nothing', frame('continuation', endHeaders, 1, block(good))],
  [
    'a promise by the client',
    frame('push', endHeaders, 1, Buffer.concat([Buffer.from([0, 0, 0, 2]), block(good)])),
  ],
  ['a frame over 16 KB', Buffer.concat([open, frame('data', endStream, 1, Buffer.alloc(20_000))])],
  ['settings on a stream', frame('settings', 0, 1)],
  ['settings of five bytes', frame('settings', 0, 0, Buffer.alloc(5))],
  ['an acknowledgement with content', frame('settings', ack, 0, Buffer.alloc(6))],
  ['a window beyond all windows in the settings', settings([4, 0x80000000])],
  ['a frame size that no frame may have', settings([5, 100])],
  ['a push that is neither on nor off', settings([2, 2])],
  ['a ping of seven bytes', frame('ping', 0, 0, Buffer.alloc(7))],
  ['a ping on a stream', frame('ping', 0, 1, Buffer.alloc(8))],
  ['a goodbye on a stream', frame('goaway', 0, 1, Buffer.alloc(8))],
  ['a goodbye of four bytes', frame('goaway', 0, 0, Buffer.alloc(4))],
  ['a reset of a stream that was never there', reset(1)],
  ['a reset of the connection', reset(0)],
  ['a reset of three bytes', Buffer.concat([open, frame('reset', 0, 1, Buffer.alloc(3))])],
  ['a priority of four bytes', Buffer.concat([open, frame('priority', 0, 1, Buffer.alloc(4))])],
  ['a window that grows by nothing', windowUpdate(0, 0)],
  [
    'a window that grows beyond all windows',
    Buffer.concat([windowUpdate(0, 0x7fffffff), windowUpdate(0, 0x7fffffff)]),
  ],
  ['a window of a stream that grows beyond all windows', Buffer.concat([open, windowUpdate(1, 0x7fffffff)])],
  ['a window update of three bytes', frame('window', 0, 0, Buffer.alloc(3))],
  ['a window for a stream that was never there', windowUpdate(5, 1)],
  ['an index of nothing', frame('headers', endStream | endHeaders, 1, Buffer.from([0x80]))],
  [
    'an index beyond the tables',
    frame('headers', endStream | endHeaders, 1, Buffer.from([0xff, 0xff, 0x7f])),
  ],
  ['an index without end', frame('headers', endStream | endHeaders, 1, Buffer.alloc(40, 0xff))],
  [
    'a string that is longer than its block',
    frame('headers', endStream | endHeaders, 1, Buffer.from([0, 0x7f, 0x80, 0x7f, 0x61])),
  ],
  [
    'a string of bits that is none',
    frame('headers', endStream | endHeaders, 1, Buffer.from([0, 0x84, 0xff, 0xff, 0xff, 0xff, 1, 0x61])),
  ],
  [
    'a table larger than agreed',
    frame(
      'headers',
      endStream | endHeaders,
      1,
      Buffer.concat([Buffer.from([0x3f, 0xff, 0xff, 0x7f]), block(good)]),
    ),
  ],
  [
    'a change of the table behind a field',
    frame('headers', endStream | endHeaders, 1, Buffer.concat([block(good), Buffer.from([0x20])])),
  ],
  ['half a head', frame('headers', endStream, 1, block(good))],
  [
    'a head without end',
    () =>
      Buffer.concat([
        headers(good, endStream),
        ...Array.from({ length: 200 }, () =>
          frame('continuation', 0, 1, block([['x-a', 'b'.repeat(16_000)]])),
        ),
      ]),
  ],
  [
    'continuations without content',
    () =>
      Buffer.concat([
        headers(good, endStream),
        ...Array.from({ length: 20_000 }, () => frame('continuation', 0, 1)),
      ]),
  ],
  [
    'one field of the table 10,000 times',
    () =>
      Buffer.concat([
        frame(
          'headers',
          endStream,
          1,
          Buffer.concat([block(good), field(['x-a', 'b'.repeat(4000)], true), Buffer.alloc(10_000, 0xbe)]),
        ),
        frame('continuation', endHeaders, 1),
      ]),
  ],
  ['settings without end', () => Buffer.concat(Array.from({ length: 20_000 }, () => settings([4, 65_535])))],
  [
    'pings without end',
    () => Buffer.concat(Array.from({ length: 20_000 }, () => frame('ping', 0, 0, Buffer.alloc(8)))),
  ],
  [
    'data without content, without end',
    () => Buffer.concat([open, ...Array.from({ length: 20_000 }, () => frame('data', 0, 1))]),
  ],
  [
    'streams that are opened and reset without end',
    () =>
      Buffer.concat(
        Array.from({ length: 10_000 }, (_, i) =>
          Buffer.concat([headers(post, endHeaders, 2 * i + 1), reset(2 * i + 1)]),
        ),
      ),
  ],
  [
    'streams without end, none of them whole',
    () => Buffer.concat(Array.from({ length: 500 }, (_, i) => headers(post, endHeaders, 2 * i + 1))),
  ],
  [
    'no window for the refusal',
    Buffer.concat([settings([4, 0]), headers([method, scheme, [':authority', 'evil.test.example'], path])]),
  ],
];

/** In place of the beginning. */
const beginnings: readonly [name: string, bytes: Buffer][] = [
  ['HTTP/1.1', Buffer.from(`GET /hostile HTTP/1.1\r\nHost: ${secureHost}\r\n\r\n`)],
  ['half the preface', preface.subarray(0, 12)],
  ['a preface with a letter changed', Buffer.from('PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n')],
  ['no preface', Buffer.concat([settings(), headers(good)])],
  ['no settings', Buffer.concat([preface, headers(good)])],
  ['an acknowledgement for settings', Buffer.concat([preface, frame('settings', ack, 0), headers(good)])],
  ['the preface and nothing more', preface],
  ['the preface and zeros', Buffer.concat([preface, Buffer.alloc(1000)])],
  ['the preface twice', Buffer.concat([preface, settings(), preface])],
  ['letters', Buffer.alloc(10_000, 'A')],
];

const beginning = Buffer.concat([preface, settings()]);

export const http2Inputs: readonly HostileInput[] = [
  ...heads.map(
    ([name, pairs]): HostileInput => ({
      name,
      place: 'h2',
      bytes: () => Buffer.concat([beginning, headers(pairs)]),
    }),
  ),
  ...frames.map(
    ([name, bytes]): HostileInput => ({
      name,
      place: 'h2',
      bytes: () => Buffer.concat([beginning, typeof bytes === 'function' ? bytes() : bytes]),
    }),
  ),
  ...beginnings.map(
    ([name, bytes]): HostileInput => ({ name: `${name} for a beginning`, place: 'h2', bytes: () => bytes }),
  ),
];

/** Good requests but for one field, each with a path of its own. */
export const requestsWithUnheardFields = unheard.map(([name, pair], i) => ({
  name,
  path: `${goodPath}/${i}`,
  input: {
    name,
    place: 'h2',
    bytes: () =>
      Buffer.concat([beginning, headers([method, scheme, authority, [':path', `${goodPath}/${i}`], pair])]),
  } satisfies HostileInput,
}));
