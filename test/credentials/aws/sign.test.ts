import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type Signable, signRequest } from '../../../src/credentials/aws/sign.ts';
import { awsChunksMax } from '../../../src/wire/http1/aws-chunked.ts';
import { fieldOf } from '../../../src/wire/http1/headers.ts';

interface Vector {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly authorization: string;
}

const suite = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../fixtures/aws/signature-v4.json'), 'utf8'),
);
const sessionToken = undefined;
const suiteTerms = {
  keys: { ...suite.credentials, sessionToken },
  scope: { service: suite.service, region: suite.region },
  nowMs: Date.parse(suite.signingDate),
};

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');
const authorizationOf = ({ headers }: Signable): string => fieldOf(headers, 'authorization');

function toRequest({ method, path, query, headers, body }: Vector): Signable {
  const pairs = Object.entries(query).flatMap(([name, values]) =>
    [values].flat().map((it) => `${encodeURIComponent(name)}=${encodeURIComponent(it)}`),
  );
  return {
    method,
    path: latin1(path) + (pairs.length === 0 ? '' : `?${pairs.join('&')}`),
    headers: Object.entries(headers)
      .filter(([name]) => name !== 'x-amz-date')
      .flat(),
    body: body === undefined ? undefined : Buffer.from(body),
  };
}

for (const vector of suite.cases as readonly Vector[])
  t.test(`signs as the test suite of AWS does: ${vector.name}`, async (t) => {
    const keys = { ...suiteTerms.keys, sessionToken: vector.headers['x-amz-security-token'] };
    t.equal(authorizationOf(signRequest(toRequest(vector), { ...suiteTerms, keys })), vector.authorization);
  });

/** Of the same suite, which its copy for JavaScript lacks: what a path is before it is signed. */
const resolved: readonly [path: string, signature: string][] = [
  ['//example//', '9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84'],
  ['/example space/', '652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741'],
];
for (const [path, signature] of resolved)
  t.test(`resolves and escapes a path as the test suite of AWS does: ${path}`, async (t) => {
    const request = { method: 'GET', path, headers: ['Host', 'example.amazonaws.com'], body: undefined };
    t.match(authorizationOf(signRequest(request, suiteTerms)), signature);
  });

t.test('signs as the guide of IAM does', async (t) => {
  const request = {
    method: 'GET',
    path: '/?Action=ListUsers&Version=2010-05-08',
    headers: [
      ...['Host', 'iam.amazonaws.com'],
      ...['Content-Type', 'application/x-www-form-urlencoded; charset=utf-8'],
    ],
    body: undefined,
  };
  const scope = { service: 'iam', region: 'us-east-1' };
  t.match(
    authorizationOf(signRequest(request, { ...suiteTerms, scope })),
    '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  );
});

/* The examples of "Signature calculations for the Authorization header" in the API reference of S3. */
const s3Terms = {
  keys: {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    sessionToken,
  },
  scope: { service: 's3', region: 'us-east-1' },
  nowMs: Date.parse('2013-05-24T00:00:00Z'),
};
const bucket = ['Host', 'examplebucket.s3.amazonaws.com'];

const s3Examples: readonly [name: string, request: Signable, signature: string][] = [
  [
    'GET Object',
    { method: 'GET', path: '/test.txt', headers: [...bucket, 'Range', 'bytes=0-9'], body: undefined },
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'PUT Object',
    {
      method: 'PUT',
      path: '/test$file.text',
      headers: [
        ...bucket,
        ...['Date', 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class', 'REDUCED_REDUNDANCY'],
      ],
      body: Buffer.from('Welcome to Amazon S3.'),
    },
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  ],
  [
    'GET Bucket lifecycle',
    { method: 'GET', path: '/?lifecycle', headers: bucket, body: undefined },
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'List Objects',
    { method: 'GET', path: '/?max-keys=2&prefix=J', headers: bucket, body: undefined },
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
];
for (const [name, request, signature] of s3Examples)
  t.test(`signs as the reference of S3 does: ${name}`, async (t) => {
    t.match(authorizationOf(signRequest(request, s3Terms)), new RegExp(`Signature=${signature}$`));
  });

/** The upload of the reference: 65 KB in two chunks, here with signatures of somebody else. */
const upload = (contentSha256: string, lines: readonly string[], more: readonly string[] = []): Signable => {
  const foreign = `;chunk-signature=${'0'.repeat(64)}`;
  const text = [
    `10000${foreign}`,
    'a'.repeat(65_536),
    `400${foreign}`,
    'a'.repeat(1024),
    `0${foreign}`,
    ...lines,
    '',
    '',
  ].join('\r\n');
  return {
    method: 'PUT',
    path: '/examplebucket/chunkObject.txt',
    headers: [
      ...['Host', 's3.amazonaws.com', 'x-amz-date', '20990101T000000Z', 'Authorization', 'AWS4 of the agent'],
      ...['x-amz-storage-class', 'REDUCED_REDUNDANCY', 'Content-Encoding', 'aws-chunked'],
      ...['x-amz-content-sha256', contentSha256, 'x-amz-decoded-content-length', '66560', ...more],
    ],
    body: Buffer.from(text),
  };
};
const signaturesIn = (body: Buffer | undefined): readonly string[] =>
  [...(body?.toString('latin1') ?? '').matchAll(/signature[=:]([0-9a-f]{64})\r\n/g)].map((it) => it[1] ?? '');

t.test('signs the chunks of an upload as the reference of S3 does', async (t) => {
  const request = upload('STREAMING-AWS4-HMAC-SHA256-PAYLOAD', [], ['Content-Length', '66824']);
  const signed = signRequest(request, s3Terms);
  t.match(
    authorizationOf(signed),
    'Signature=4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9',
  );
  t.same(signaturesIn(signed.body), [
    'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648',
    '0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497',
    'b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9',
  ]);
  t.equal(signed.body?.length, 66_824, 'and it is as long as the reference says');
  t.equal(
    signed.body?.toString('latin1').replace(/[0-9a-f]{64}/g, ''),
    request.body?.toString('latin1').replace(/[0-9a-f]{64}/g, ''),
  );
});

t.test('signs the trailers of an upload as the reference of S3 does', async (t) => {
  const trailers = ['x-amz-checksum-crc32c:sOO8/Q==', `x-amz-trailer-signature:${'0'.repeat(64)}`];
  const signed = signRequest(
    upload('STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER', trailers, [
      'x-amz-trailer',
      'x-amz-checksum-crc32c',
    ]),
    s3Terms,
  );
  t.match(
    authorizationOf(signed),
    'Signature=106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e',
  );
  t.same(signaturesIn(signed.body), [
    'b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2',
    '1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7',
    '2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992',
    'd81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435',
  ]);
});

t.test('signs the head alone where an upload leaves its chunks unsigned', async (t) => {
  const text = 'a\r\n0123456789\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n';
  const headers = [...bucket, 'x-amz-content-sha256', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'];
  const body = Buffer.from(text);
  const signed = signRequest({ method: 'PUT', path: '/a', headers, body }, s3Terms);
  t.equal(signed.body, body);
  t.equal(fieldOf(signed.headers, 'x-amz-content-sha256'), 'STREAMING-UNSIGNED-PAYLOAD-TRAILER');
});

t.test('signs chunks of Signature Version 4A with a key, as the others', async (t) => {
  const text = `1;chunk-signature=${'a'.repeat(140)}****\r\nx\r\n0;chunk-signature=${'b'.repeat(144)}\r\n\r\n`;
  const said = 'STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD';
  const headers = [...bucket, 'x-amz-content-sha256', said, 'X-Amz-Region-Set', '*'];
  const signed = signRequest({ method: 'PUT', path: '/a', headers, body: Buffer.from(text) }, s3Terms);
  t.equal(signaturesIn(signed.body).length, 2);
  t.equal(fieldOf(signed.headers, 'x-amz-content-sha256'), 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD');
  t.equal(fieldOf(signed.headers, 'x-amz-region-set'), '');
});

t.test('signs the hash of a body also where its sender leaves it unsigned, and lies about it', async (t) => {
  const sign = (said: readonly string[]) =>
    signRequest(
      { method: 'PUT', path: '/a', headers: [...bucket, ...said], body: Buffer.from('x') },
      s3Terms,
    );
  const plain = sign([]);
  for (const said of ['UNSIGNED-PAYLOAD', '0'.repeat(64), ''])
    t.same(sign(['X-Amz-Content-Sha256', said]).headers, plain.headers, said);
  t.same(sign(['x-amz-content-sha256', 'STREAMING-X', 'X-AMZ-CONTENT-SHA256', 'a']).headers, plain.headers);
});

const frame = (content: string, end = '0;chunk-signature=SIG\r\n\r\n'): string =>
  `${content}${end}`.replaceAll('SIG', '0'.repeat(64));
const broken: Record<string, string> = {
  'nothing at all': '',
  'no chunks': 'just a text',
  'no last chunk': frame('1;chunk-signature=SIG\r\nx\r\n', ''),
  'a size that is too large': frame('ff;chunk-signature=SIG\r\nx\r\n'),
  'a size that is too small': frame('1;chunk-signature=SIG\r\nxy\r\n'),
  'a size with zeros before it': frame('01;chunk-signature=SIG\r\nx\r\n'),
  'a huge size': frame('ffffffff;chunk-signature=SIG\r\nx\r\n'),
  'another extension': frame('1;note=SIG\r\nx\r\n'),
  'bytes behind the end': frame('', '0;chunk-signature=SIG\r\n\r\nGET / HTTP/1.1\r\n'),
  'a trailer that is no checksum': frame('', '0;chunk-signature=SIG\r\nx-amz-acl:public-read\r\n\r\n'),
  'a trailer with a text': frame('', '0;chunk-signature=SIG\r\nx-amz-checksum-sha1:a secret\r\n\r\n'),
  'too many trailers': frame('', `0\r\n${'x-amz-checksum-sha1:AA==\r\n'.repeat(5)}\r\n`),
  'small chunks with signatures': frame(`1;chunk-signature=SIG\r\nx\r\n1;chunk-signature=SIG\r\nx\r\n`),
};
for (const [name, text] of Object.entries(broken))
  t.test(`signs no chunks with ${name}`, async (t) => {
    const headers = [...bucket, 'x-amz-content-sha256', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD'];
    const request = { method: 'PUT', path: '/a', headers, body: Buffer.from(text) };
    t.throws(() => signRequest(request, s3Terms), { code: 'VALIDATION_FAILED' });
  });

t.test('signs no more chunks than it takes, however small they are', async (t) => {
  const headers = [...bucket, 'x-amz-content-sha256', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'];
  const chunked = (count: number) => Buffer.from(`${'1\r\nx\r\n'.repeat(count)}0\r\n\r\n`);
  const sign = (count: number) =>
    signRequest({ method: 'PUT', path: '/a', headers, body: chunked(count) }, s3Terms);
  t.equal(sign(awsChunksMax).body?.length, chunked(awsChunksMax).length);
  t.throws(() => sign(awsChunksMax + 1), { code: 'VALIDATION_FAILED', message: /too many/ });
});

t.test('refuses a body that it knows no signature for', async (t) => {
  const headers = [...bucket, 'x-amz-content-sha256', 'STREAMING-AWS4-HMAC-SHA256-EVENTS'];
  const request = { method: 'POST', path: '/a', headers, body: Buffer.from('x') };
  t.throws(() => signRequest(request, s3Terms), { code: 'CREDENTIAL_UNAVAILABLE' });
});

/** Whatever stands in a path, query or header, the canonical request has as many lines as it must. */
t.test('signs what an agent may put into path, query and headers, byte for byte', async (t) => {
  const sign = (path: string, headers: readonly string[] = []) =>
    authorizationOf(
      signRequest({ method: 'GET', path, headers: [...bucket, ...headers], body: undefined }, s3Terms),
    );
  const pairs: readonly (readonly [string, string])[] = [
    ['/a?b=1', '/a?b=%31'],
    ['/a%62', '/ab'],
    ['/a?x&y', '/a?y=&x='],
    ['/a?b=2&b=1', '/a?b=1&b=2'],
  ];
  for (const [one, same] of pairs) t.equal(sign(one), sign(same), `${one} is ${same} to AWS`);
  const others = ['/a?b=1', '/a?b=1&c', '/a?b%3D1', '/a?b=1%26c', '/a?c=b=1', '/a%0Ab=1', '/a%3Fb=1', '//a'];
  t.equal(new Set(others.map((it) => sign(it))).size, others.length, 'what differs is signed apart');
  t.equal(sign('/a', ['X', ' a   b\t']), sign('/a', ['x', 'a b']));
  t.not(sign('/a', ['X', 'a', 'X', 'b']), sign('/a', ['X', 'b', 'X', 'a']));
  t.equal(sign('/a', ['User-Agent', 'a', 'Via', '1.1 x', 'Proxy-X', 'y']), sign('/a'), 'hops are not signed');
  t.match(
    sign('/a', ['X-Latin', 'M\xfcnchen']),
    /SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-latin,/,
  );
});

t.test('sends a session token with what it signs', async (t) => {
  const keys = { ...s3Terms.keys, sessionToken: 'TOKEN' };
  const request = {
    method: 'GET',
    path: '/',
    headers: [...bucket, 'X-Amz-Security-Token', 'own'],
    body: undefined,
  };
  const signed = signRequest(request, { ...s3Terms, keys });
  t.equal(fieldOf(signed.headers, 'x-amz-security-token'), 'TOKEN');
  t.match(authorizationOf(signed), 'x-amz-security-token');
});
