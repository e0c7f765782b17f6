import { type HostileInput, secureHost } from './input.ts';

/* What is sent into a tunnel in place of TLS, and TLS of another host. */

const hello = (version: number, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0x16, 3, version, body.length >> 8, body.length & 0xff]), body]);

/** A ClientHello of one old version and nothing newer, with one cipher of its time. */
function oldHello(minor: number): Buffer {
  const body = Buffer.concat([
    Buffer.from([3, minor]),
    Buffer.alloc(32, 7),
    // No session, one cipher (RSA with AES-128 and SHA-1), no compression.
    Buffer.from([0, 0, 2, 0, 0x2f, 1, 0]),
  ]);
  return hello(minor, Buffer.concat([Buffer.from([1, 0, 0, body.length]), body]));
}

const starts: readonly [name: string, bytes: string | Buffer][] = [
  ['zeros', Buffer.alloc(64)],
  ['random bytes', Buffer.from('c0ffee00deadbeef0102030405060708', 'hex')],
  ['SSH', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['SMTP', 'EHLO evil.test.example\r\n'],
  ['SOCKS 4', Buffer.from([4, 1, 0, 80, 127, 0, 0, 1, 0])],
  ['SOCKS 5', Buffer.from([5, 1, 0])],
  ['Redis', '*1\r\n$4\r\nPING\r\n'],
  ['PostgreSQL', Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])],
  ['the PROXY protocol', 'PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n'],
  ['the PROXY protocol in binary', Buffer.from('0d0a0d0a000d0a515549540a21110000', 'hex')],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['white space before a request', `\r\n\r\nGET /hostile HTTP/1.1\r\nHost: ${secureHost}\r\n\r\n`],
  ['a request in lower case', `get /hostile HTTP/1.1\r\nHost: ${secureHost}\r\n\r\n`],
  ['nothing but letters', 'A'.repeat(100_000)],
  [
    'SSL 2',
    Buffer.from(
      '802e0100020015000000100100800200800300800400800500800600400700c00000000000000000000000000000',
      'hex',
    ),
  ],
  ['SSL 3', oldHello(0)],
  ['TLS 1.0', oldHello(1)],
  ['TLS 1.1', oldHello(2)],
  ['a TLS alert', Buffer.from([0x15, 3, 3, 0, 2, 2, 40])],
  ['TLS data before a handshake', Buffer.from([0x17, 3, 3, 0, 4, 1, 2, 3, 4])],
  ['a handshake of zeros', hello(1, Buffer.alloc(100))],
  ['a handshake that is longer than its record', hello(1, Buffer.from([1, 0xff, 0xff, 0xff, 3, 3]))],
  [
    'a record that is longer than TLS allows',
    Buffer.concat([Buffer.from([0x16, 3, 1, 0xff, 0xff]), Buffer.alloc(0xffff)]),
  ],
  ['half a handshake', oldHello(3).subarray(0, 20)],
];

const names: readonly [name: string, serverName: string][] = [
  ['another host', 'evil.test.example'],
  ['a suffix that is not ours', `${secureHost}.evil.test.example`],
  ['a prefix that is not ours', `x.${secureHost}`],
  ['our name without its first label', 'test.example'],
  ['a wildcard', '*.test.example'],
  ['the gateway', 'localhost'],
];

export const tunnelInputs: readonly HostileInput[] = [
  ...starts.map(([name, bytes]): HostileInput => ({ name, place: 'tunnel start', bytes: () => bytes })),
  ...names.map(
    ([name, serverName]): HostileInput => ({
      name: `a handshake that names ${name}`,
      place: 'tunnel',
      serverName,
      bytes: () => `GET /hostile HTTP/1.1\r\nHost: ${secureHost}\r\n\r\n`,
    }),
  ),
  ...names.map(
    ([name, serverName]): HostileInput => ({
      name: `a handshake and a Host that name ${name}`,
      place: 'tunnel',
      serverName,
      bytes: () => `GET /hostile HTTP/1.1\r\nHost: ${serverName}\r\n\r\n`,
    }),
  ),
];
