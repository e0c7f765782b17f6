import {
  agentOfAnother,
  type HostileInput,
  type HostileLab,
  many,
  type Place,
  plainHost,
  secureHost,
} from './input.ts';

/* HTTP/1.1 that can be read in two ways, that hides a second request, or that has no end. */

/** One place at which HTTP/1.1 is spoken, and how a request is addressed there. */
interface Door {
  readonly place: Place;
  readonly target: string;
  readonly host: string;
  readonly auth: (lab: HostileLab) => string;
}

const none = (): string => '';
const doors: readonly Door[] = [
  {
    place: 'proxy',
    target: `http://${plainHost}/hostile`,
    host: plainHost,
    auth: ({ proxyAuth }) => proxyAuth,
  },
  { place: 'tunnel', target: '/hostile', host: secureHost, auth: none },
  { place: 'control', target: '/inbound/bot/hostile', host: 'localhost', auth: ({ auth }) => auth },
];

/** Builds a whole request of parts that are bad. */
interface Parts {
  readonly target: string;
  /** With its line end, and with what shows the key. */
  readonly host: string;
  readonly hostName: string;
}

/** Stands behind what is refused. It is no good request here, but would be one to an upstream that read the bytes before it otherwise. */
const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: evil.test.example\r\n\r\n';

/** The request line. */
export const lines: readonly [name: string, request: (parts: Parts) => string][] = [
  ['no version', ({ target, host }) => `GET ${target}\r\n${host}\r\n`],
  ['a version of HTTP/2', ({ target, host }) => `GET ${target} HTTP/2.0\r\n${host}\r\n`],
  ['a version that does not exist', ({ target, host }) => `GET ${target} HTTP/1.2\r\n${host}\r\n`],
  ['a version with two digits', ({ target, host }) => `GET ${target} HTTP/1.10\r\n${host}\r\n`],
  ['another protocol', ({ target, host }) => `GET ${target} SIP/2.0\r\n${host}\r\n`],
  ['a version in lower case', ({ target, host }) => `GET ${target} http/1.1\r\n${host}\r\n`],
  ['a space behind the version', ({ target, host }) => `GET ${target} HTTP/1.1 \r\n${host}\r\n`],
  ['a word behind the version', ({ target, host }) => `GET ${target} HTTP/1.1 x\r\n${host}\r\n`],
  ['a tab for a space', ({ target, host }) => `GET\t${target} HTTP/1.1\r\n${host}\r\n`],
  ['a space before the method', ({ target, host }) => ` GET ${target} HTTP/1.1\r\n${host}\r\n`],
  ['a space in the target', ({ target, host }) => `GET ${target} x HTTP/1.1\r\n${host}\r\n`],
  ['two spaces behind the method', ({ target, host }) => `GET  ${target} HTTP/1.1\r\n${host}\r\n`],
  ['two spaces before the version', ({ target, host }) => `GET ${target}  HTTP/1.1\r\n${host}\r\n`],
  ['no Host', ({ target, host }) => `GET ${target} HTTP/1.1\r\n${host.replace(/^Host:.*\r\n/im, '')}\r\n`],
  ['two Hosts', ({ target, host, hostName }) => `GET ${target} HTTP/1.1\r\nHost: ${hostName}\r\n${host}\r\n`],
  ['a NUL in the target', ({ target, host }) => `GET ${target}\0x HTTP/1.1\r\n${host}\r\n`],
  ['a control character in the target', ({ target, host }) => `GET ${target}\x01x HTTP/1.1\r\n${host}\r\n`],
  ['a DEL in the target', ({ target, host }) => `GET ${target}\x7fx HTTP/1.1\r\n${host}\r\n`],
  ['a bare CR in the target', ({ target, host }) => `GET ${target}\rx HTTP/1.1\r\n${host}\r\n`],
  ['a bare LF behind the request line', ({ target, host }) => `GET ${target} HTTP/1.1\n${host}\r\n`],
  ['a bare CR behind the request line', ({ target, host }) => `GET ${target} HTTP/1.1\r${host}\r\n`],
  ['bare LFs everywhere', ({ target, host }) => `GET ${target} HTTP/1.1\n${host.replaceAll('\r', '')}\n`],
  ['no method', ({ target, host }) => ` ${target} HTTP/1.1\r\n${host}\r\n`],
  ['no target', ({ host }) => `GET  HTTP/1.1\r\n${host}\r\n`],
  ['a method with a colon', ({ target, host }) => `GE:T ${target} HTTP/1.1\r\n${host}\r\n`],
  ['a method in lower case', ({ target, host }) => `get ${target} HTTP/1.1\r\n${host}\r\n`],
  ['a method half in lower case', ({ target, host }) => `DELete ${target} HTTP/1.1\r\n${host}\r\n`],
  [
    'a method of 5,000 letters',
    ({ target, host }) => `${'A'.repeat(5000)} ${target} HTTP/1.1\r\n${host}\r\n`,
  ],
  ['a target of 100 KB', ({ target, host }) => `GET ${target}${'a'.repeat(100_000)} HTTP/1.1\r\n${host}\r\n`],
  ['a request line without end', () => 'A'.repeat(200_000)],
  ['the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['no HTTP at all', () => 'hello\r\n\r\n'],
  ['an answer', () => 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ['an asterisk for a GET', ({ host }) => `GET * HTTP/1.1\r\n${host}\r\n`],
  ['a target without a slash', ({ host }) => `GET hostile HTTP/1.1\r\n${host}\r\n`],
  ['an authority for a target', ({ host, hostName }) => `GET ${hostName}:443 HTTP/1.1\r\n${host}\r\n`],
];

/** One more field line, or something in its place; the request is a GET. */
export const fields: readonly [name: string, field: string][] = [
  ['white space before a colon', 'X-A : b'],
  ['a tab before a colon', 'X-A\t: b'],
  ['no colon', 'X-A b'],
  ['no name', ': b'],
  ['a folded line', 'X-A: a\r\n b'],
  ['a line folded by a tab', 'X-A: a\r\n\tb'],
  ['a bare LF in a value', 'X-A: a\nX-B: b'],
  ['a bare CR in a value', 'X-A: a\rX-B: b'],
  ['CR LF with a CR too many', 'X-A: a\r\r\nX-B: b'],
  ['a NUL in a value', 'X-A: a\0b'],
  ['a NUL in a name', 'X\0A: b'],
  ['a control character in a value', 'X-A: a\x01b'],
  ['a DEL in a value', 'X-A: a\x7fb'],
  ['a bracket in a name', 'X(A): b'],
  ['an at in a name', 'X@A: b'],
  ['a space in a name', 'X A: b'],
  ['letters beyond ASCII in a name', 'X-\xe4: b'],
  ['a field of 70 KB', `X-A: ${'a'.repeat(70_000)}`],
  ['a name of 70 KB', `${'a'.repeat(70_000)}: b`],
  ['300 fields', many(300, (i) => `X-${i}: 1\r\n`).slice(0, -2)],
  ['5,000 fields', many(5000, (i) => `X-${i}: 1\r\n`).slice(0, -2)],
  ['10,000 fields of one name', many(10_000, () => 'X: 1\r\n').slice(0, -2)],
  ['two content types', 'Content-Type: text/plain\r\nContent-Type: application/json'],
  ['an agent id that is none', 'X-Service-Agent-Id: root'],
  ['an agent of another tenant', `X-Service-Agent-Id: ${agentOfAnother}`],
];

/** Field lines that frame the body, and the body: the request is a POST. */
export const bodies: readonly [name: string, rest: string][] = [
  ['two lengths', 'Content-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  ['the same length twice', 'Content-Length: 1\r\nContent-Length: 1\r\n\r\na'],
  ['a list of lengths', 'Content-Length: 1, 1\r\n\r\na'],
  ['a negative length', 'Content-Length: -1\r\n\r\n'],
  ['a length with a sign', 'Content-Length: +1\r\n\r\na'],
  ['a length in hexadecimal', 'Content-Length: 0x1\r\n\r\na'],
  ['a length with a fraction', 'Content-Length: 1.0\r\n\r\na'],
  ['a length with an exponent', 'Content-Length: 1e0\r\n\r\na'],
  ['a length of two numbers', 'Content-Length: 1 1\r\n\r\na'],
  ['a length with an underscore', 'Content-Length: 1_0\r\n\r\naaaaaaaaaa'],
  ['a length in letters', 'Content-Length: one\r\n\r\na'],
  ['an empty length', 'Content-Length:\r\n\r\na'],
  ['a length beyond all numbers', 'Content-Length: 99999999999999999999\r\n\r\na'],
  ['a length over the limit', 'Content-Length: 1000000000\r\n\r\na'],
  ['a length and chunks', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['chunks and a length', 'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n'],
  [
    'a length, and a transfer coding with a space before its colon',
    'Content-Length: 5\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n',
  ],
  [
    'a length, and a folded transfer coding',
    'Content-Length: 5\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n',
  ],
  [
    'a length, and a transfer coding behind a bare LF',
    'Content-Length: 5\r\nX-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['chunked twice', 'Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n'],
  [
    'two transfer codings in two fields',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n',
  ],
  ['chunked in two fields', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['gzip before chunked', 'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
  ['chunked before gzip', 'Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n'],
  ['gzip alone', 'Transfer-Encoding: gzip\r\n\r\n'],
  ['identity', 'Transfer-Encoding: identity\r\n\r\n'],
  ['chunked with a parameter', 'Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n'],
  ['chunked in quotes', 'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n'],
  ['chunked behind a letter', 'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
  ['chunked behind a vertical tab', 'Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n'],
  ['chunked behind a no-break space', 'Transfer-Encoding: \xa0chunked\r\n\r\n0\r\n\r\n'],
  ['chunked behind a comma', 'Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n'],
  ['chunked before a comma', 'Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n'],
  ['an empty transfer coding', 'Transfer-Encoding:\r\n\r\n'],
  ['a size in letters', 'Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n'],
  ['a negative size', 'Transfer-Encoding: chunked\r\n\r\n-1\r\na\r\n0\r\n\r\n'],
  ['a size with a sign', 'Transfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n'],
  ['a size with 0x', 'Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n'],
  ['a space before a size', 'Transfer-Encoding: chunked\r\n\r\n 1\r\na\r\n0\r\n\r\n'],
  ['no size', 'Transfer-Encoding: chunked\r\n\r\n\r\na\r\n0\r\n\r\n'],
  ['a size before a bare LF', 'Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n'],
  ['a size before a bare CR', 'Transfer-Encoding: chunked\r\n\r\n1\ra\r\n0\r\n\r\n'],
  ['a chunk that is longer than its size', 'Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n'],
  ['a chunk before a bare LF', 'Transfer-Encoding: chunked\r\n\r\n1\r\na\n0\r\n\r\n'],
  ['a size beyond all numbers', `Transfer-Encoding: chunked\r\n\r\n${'f'.repeat(20)}\r\na\r\n0\r\n\r\n`],
  [
    'a size that wraps around at 64 bits',
    'Transfer-Encoding: chunked\r\n\r\n10000000000000001\r\na\r\n0\r\n\r\n',
  ],
  ['a bare LF in an extension', 'Transfer-Encoding: chunked\r\n\r\n1;a=b\nc\r\na\r\n0\r\n\r\n'],
  ['a NUL in an extension', 'Transfer-Encoding: chunked\r\n\r\n1;a=\0\r\na\r\n0\r\n\r\n'],
  ['an extension of 100 KB', `Transfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(100_000)}\r\na\r\n0\r\n\r\n`],
  ['a trailer before a bare LF', 'Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: b\n\r\n'],
  ['a trailer without a colon', 'Transfer-Encoding: chunked\r\n\r\n0\r\nX-A b\r\n\r\n'],
  ['trailers of 100 KB', `Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: ${'a'.repeat(100_000)}\r\n\r\n`],
  [
    'a body over the limit, in chunks',
    `Transfer-Encoding: chunked\r\n\r\n${many(5, () => `10000\r\n${'a'.repeat(65_536)}\r\n`)}0\r\n\r\n`,
  ],
  ['a body of one byte that does not come', 'Content-Length: 1\r\n\r\n'],
  ['chunks that do not end', 'Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n'],
  ['an expectation that is none', 'Expect: magic\r\nContent-Length: 1\r\n\r\na'],
  ['an expectation too many', 'Expect: 100-continue, magic\r\nContent-Length: 1\r\n\r\na'],
  ['an expectation with a value', 'Expect: 100-continue=1\r\nContent-Length: 1\r\n\r\na'],
  ['a coding that is not that of the body', 'Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello'],
  ['a coding that nobody knows', 'Content-Encoding: x-secret\r\nContent-Length: 5\r\n\r\nhello'],
  ['a coding ten times', `Content-Encoding: ${'gzip, '.repeat(9)}gzip\r\nContent-Length: 5\r\n\r\nhello`],
];

/** Where Host says something else than the target; the whole request. */
const hosts: readonly [name: string, host: (name: string) => string][] = [
  ['another host', () => 'Host: evil.test.example'],
  ['a suffix that is not ours', (name) => `Host: ${name}.evil.test.example`],
  ['another port', (name) => `Host: ${name}:8443`],
  ['a port that is none', (name) => `Host: ${name}:http`],
  ['a port beyond all ports', (name) => `Host: ${name}:65536`],
  ['user information', (name) => `Host: ${name}@evil.test.example`],
  ['our name as user information', (name) => `Host: evil.test.example@${name}`],
  ['a path', (name) => `Host: ${name}/evil`],
  ['a space', (name) => `Host: ${name} evil.test.example`],
  ['a comma', (name) => `Host: ${name}, evil.test.example`],
  ['two fields, the first ours', (name) => `Host: ${name}\r\nHost: evil.test.example`],
  ['two fields, the second ours', (name) => `Host: evil.test.example\r\nHost: ${name}`],
  ['the same twice', (name) => `Host: ${name}\r\nHost: ${name}`],
  ['nothing', () => 'Host:'],
  ['an address', () => 'Host: 127.0.0.1'],
  ['an open bracket', () => 'Host: [::1'],
  ['a NUL', (name) => `Host: ${name}\0.evil.test.example`],
  ['a percent', (name) => `Host: ${name}%00.evil.test.example`],
  ['a URL', (name) => `Host: https://${name}/`],
];

/** Request targets that lead elsewhere than the tunnel; the Host is that of the tunnel, or agrees with the target. */
const targetsInside: readonly [name: string, request: string][] = [
  [
    'another host in absolute-form',
    `GET https://evil.test.example/hostile HTTP/1.1\r\nHost: ${secureHost}\r\n\r\n`,
  ],
  [
    'another host in absolute-form, and in Host',
    'GET https://evil.test.example/hostile HTTP/1.1\r\nHost: evil.test.example\r\n\r\n',
  ],
  [
    'another scheme in absolute-form',
    `GET http://${secureHost}/hostile HTTP/1.1\r\nHost: ${secureHost}\r\n\r\n`,
  ],
  [
    'another port in absolute-form',
    `GET https://${secureHost}:8443/hostile HTTP/1.1\r\nHost: ${secureHost}\r\n\r\n`,
  ],
  [
    'user information in absolute-form',
    `GET https://${secureHost}@evil.test.example/ HTTP/1.1\r\nHost: ${secureHost}\r\n\r\n`,
  ],
  ['a second tunnel', 'CONNECT evil.test.example:443 HTTP/1.1\r\nHost: evil.test.example:443\r\n\r\n'],
  [
    'a second tunnel to the same host',
    `CONNECT ${secureHost}:443 HTTP/1.1\r\nHost: ${secureHost}:443\r\n\r\n`,
  ],
  ['a scheme that is none', `GET gopher://${secureHost}/ HTTP/1.1\r\nHost: ${secureHost}\r\n\r\n`],
  [
    'a backslash for the authority',
    `GET https:\\\\evil.test.example/ HTTP/1.1\r\nHost: ${secureHost}\r\n\r\n`,
  ],
];

const atAllDoors = (
  make: (door: Door) => readonly (readonly [name: string, bytes: (lab: HostileLab) => string])[],
): HostileInput[] =>
  doors.flatMap((door) =>
    make(door).map(([name, bytes]): HostileInput => ({ name, place: door.place, bytes })),
  );

export const http1Inputs: readonly HostileInput[] = [
  ...atAllDoors(({ target, host, auth }) =>
    lines.map(([name, request]) => [
      name,
      (lab) => request({ target, host: `Host: ${host}\r\n${auth(lab)}`, hostName: host }) + smuggled,
    ]),
  ),
  ...atAllDoors(({ target, host, auth }) =>
    fields.map(([name, field]) => [
      name,
      (lab) => `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${auth(lab)}${field}\r\n\r\n`,
    ]),
  ),
  ...atAllDoors(({ target, host, auth }) =>
    bodies.map(([name, rest]) => [
      name,
      (lab) => `POST ${target} HTTP/1.1\r\nHost: ${host}\r\n${auth(lab)}${rest}`,
    ]),
  ),
  ...atAllDoors(({ place, target, host, auth }) =>
    place === 'control'
      ? []
      : hosts.map(([name, line]) => [
          `Host has ${name}`,
          (lab) => `GET ${target} HTTP/1.1\r\n${line(host)}\r\n${auth(lab)}\r\n${smuggled}`,
        ]),
  ),
  ...(['tunnel', 'plain tunnel'] as const).flatMap((place) =>
    targetsInside.map(([name, request]): HostileInput => {
      const isPlain = place === 'plain tunnel';
      const bytes = isPlain
        ? request
            .replaceAll(secureHost, plainHost)
            .replaceAll(/https?:/g, (it) => (it === 'https:' ? 'http:' : 'https:'))
        : request;
      return { name, place, bytes: () => bytes };
    }),
  ),
  {
    name: 'chunks in HTTP/1.0',
    place: 'proxy',
    bytes: ({ proxyAuth }) =>
      `POST http://${plainHost}/hostile HTTP/1.0\r\nHost: ${plainHost}\r\n${proxyAuth}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  },
  {
    name: 'chunks in HTTP/1.0',
    place: 'tunnel',
    bytes: () =>
      `POST /hostile HTTP/1.0\r\nHost: ${secureHost}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  },
];
