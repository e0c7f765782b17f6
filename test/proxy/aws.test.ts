import { hash, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { signRequest } from '../../src/credentials/aws/sign.ts';
import { fieldOf } from '../../src/wire/http1/headers.ts';
import { type CredentialLab, startCredentialLab } from '../support/credential-lab.ts';
import type { RecordedRequest, UpstreamHandler } from '../support/upstream.ts';

const keys = {
  accessKeyId: 'AKIDOFTHETESTS000001',
  secretAccessKey: `s${randomBytes(20).toString('hex')}`,
  sessionToken: undefined,
};
const scope = { service: 's3', region: 'eu-west-1' };
const label = '[REDACTED:credential]';

const startAwsLab = (t: Test, handler?: UpstreamHandler, fields: object = {}): Promise<CredentialLab> =>
  startCredentialLab(t, {
    credentials: [
      {
        name: 'aws',
        type: 'aws_sigv4',
        access_key_id: keys.accessKeyId,
        secret_access_key: keys.secretAccessKey,
        ...scope,
        hosts: ['*.test.example'],
        ...fields,
      },
    ],
    hosts: [
      'dynamodb.eu-north-1.amazonaws.com',
      '*.s3.eu-west-1.amazonaws.com',
      '*.s3.eu-west-3.amazonaws.com',
    ],
    ...(handler ? { handler } : {}),
  });

/** Whether the request is signed as it came: of its bytes on the wire the signature is made again. */
function isSigned({ method, url, rawHeaders, body }: RecordedRequest, of: object = scope): boolean {
  const headers = rawHeaders.filter((_, i) => rawHeaders[i & ~1]?.toLowerCase() !== 'content-length');
  const time = fieldOf(headers, 'x-amz-date').replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5');
  const token = fieldOf(headers, 'x-amz-security-token');
  const terms = {
    keys: { ...keys, sessionToken: token === '' ? undefined : token },
    scope: { ...scope, ...of },
    nowMs: Date.parse(time),
  };
  const again = signRequest({ method, path: url, headers, body }, terms);
  return (
    fieldOf(again.headers, 'authorization') === fieldOf(headers, 'authorization') &&
    (again.body ?? body).equals(body)
  );
}

const last = ({ upstream }: CredentialLab): RecordedRequest => upstream.requests.at(-1) as RecordedRequest;

t.test('signs what goes out, instead of what the agent has signed', async (t) => {
  const lab = await startAwsLab(t);
  const own = {
    authorization:
      'AWS4-HMAC-SHA256 Credential=AKIDOFTHEAGENT/20990101/x/s3/aws4_request, SignedHeaders=host',
    'x-amz-date': '20990101T000000Z',
    'x-amz-security-token': 'of-the-agent',
    'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
    'x-amz-acl': 'private',
    'x-odd': '  a   b  ',
    'user-agent': 'tests',
    range: 'bytes=0-3',
  };
  const paths = [
    '/bucket/key',
    '/bucket/a%20b/%E2%82%AC/c+d?list-type=2&prefix=a%2Fb&x',
    '/b/%2e%2e%2Fk?a=b=c&&a',
  ];
  for (const path of paths) {
    const { status } = await lab.call(path, { headers: own });
    t.equal(status, 200);
    const { headers } = last(lab);
    t.ok(isSigned(last(lab)), path);
    t.match(headers.authorization, `Credential=${keys.accessKeyId}/`);
    t.match(headers.authorization, 'SignedHeaders=host;x-amz-acl;x-amz-content-sha256;x-amz-date;x-odd,');
    t.equal(headers['x-amz-security-token'], undefined);
    t.equal(headers['x-amz-content-sha256'], hash('sha256', ''));
    t.equal(headers.range, undefined);
  }
  await lab.call('/bucket/key', { method: 'PUT', headers: own, body: 'content' });
  t.ok(isSigned(last(lab)));
  t.equal(last(lab).headers['x-amz-content-sha256'], hash('sha256', 'content'));
});

t.test('takes a signature out of a URL that the agent has signed, and nothing else', async (t) => {
  const lab = await startAwsLab(t);
  const signature = [
    ...[
      'X-Amz-Algorithm=AWS4-HMAC-SHA256',
      'X-Amz-Credential=AKIDOFTHEAGENT%2F20990101',
      'X-Amz-Date=20990101T000000Z',
    ],
    ...['X-Amz-Expires=900', 'X-Amz-SignedHeaders=host', 'x-amz-signature=00', 'X-Amz-Security-Token=t'],
    ...['%58-Amz-Signature=11', 'AWSAccessKeyId=a', 'Signature=b'],
  ];
  await lab.call(`/bucket/key?a=1&${signature.join('&')}&x-amz-acl=public-read`);
  t.equal(last(lab).url, '/bucket/key?a=1&x-amz-acl=public-read');
  t.ok(isSigned(last(lab)));
  await lab.call(`/bucket/key?${signature.join('&')}`);
  t.equal(last(lab).url, '/bucket/key');
});

t.test('tells service and region from the host, or says that it cannot', async (t) => {
  const hosts = ['dynamodb.eu-north-1.amazonaws.com', 'bucket.s3.eu-west-3.amazonaws.com'] as const;
  const lab = await startAwsLab(t, undefined, {
    service: undefined,
    region: undefined,
    hosts: [...hosts, 'unknown.test.example'],
  });
  for (const [host, of] of [
    [hosts[0], { service: 'dynamodb', region: 'eu-north-1' }],
    [hosts[1], { service: 's3', region: 'eu-west-3' }],
  ] as const) {
    t.equal((await lab.call('/a%20b', { host, method: 'POST', body: '{}' })).status, 200);
    t.ok(isSigned(last(lab), of), host);
  }
  const { status, body } = await lab.call('/', { host: 'unknown.test.example' });
  t.equal(status, 502);
  t.match(JSON.parse(body.toString()), { code: 'CREDENTIAL_UNAVAILABLE', detail: /service and region/ });
  t.equal(lab.upstream.requests.length, 2);
});

t.test('lets parts of objects pass, and objects that are stored compressed, of S3 alone', async (t) => {
  const object = gzipSync('the content of an object');
  const handler: UpstreamHandler = (request, response) => {
    if (request.url === '/error') {
      response.writeHead(403, { 'Content-Encoding': 'gzip' }).end(gzipSync(keys.secretAccessKey));
      return;
    }
    if (request.headers.range) response.writeHead(206, { 'Content-Range': `bytes 0-3/${object.length}` });
    else response.writeHead(200, { 'Content-Encoding': 'gzip' });
    response.end(request.headers.range ? object.subarray(0, 4) : object);
  };
  const host = 'bucket.s3.eu-west-1.amazonaws.com';
  const lab = await startAwsLab(t, handler, { hosts: [host, '*.test.example'] });
  const part = await lab.call('/key', { host, headers: { range: 'bytes=0-3' } });
  t.equal(part.status, 206);
  t.ok(part.body.equals(object.subarray(0, 4)));
  t.ok(isSigned(last(lab)));
  const whole = await lab.call('/key', { host });
  t.equal(whole.status, 200);
  t.ok(whole.body.equals(object));
  const error = await lab.call('/error', { host });
  t.equal(String(error.body), '[REDACTED:credential]', 'an error has the keys, if anything');
  const elsewhere = await lab.call('/key', { headers: { range: 'bytes=0-3' } });
  t.equal(elsewhere.status, 200);
  t.equal(String(elsewhere.body), 'the content of an object', 'whole and plain');
  t.equal(last(lab).headers.range, undefined, 'there, nobody gets a secret in pieces');
});

const chunked = (pieces: readonly string[], trailers: readonly string[] = []): string =>
  [
    ...[...pieces, ''].flatMap((it) => [
      `${Buffer.byteLength(it).toString(16)};chunk-signature=${'0'.repeat(64)}`,
      ...(it === '' ? [] : [it]),
    ]),
    ...trailers,
    '',
    '',
  ].join('\r\n');
const streaming = (length: number, kind = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD') => ({
  'x-amz-content-sha256': kind,
  'x-amz-decoded-content-length': String(length),
});
const filler = 'some text of no interest. '.repeat(320);

t.test('signs the chunks of an upload anew', async (t) => {
  const lab = await startAwsLab(t);
  const body = chunked([filler, 'and its end']);
  for (const coding of [{ 'content-encoding': 'aws-chunked' }, {}]) {
    const headers = { ...streaming(filler.length + 11), ...coding };
    const { status } = await lab.call('/bucket/key', { method: 'PUT', headers, body });
    t.equal(status, 200);
    t.ok(isSigned(last(lab)));
    t.equal(last(lab).body.length, body.length);
    t.notMatch(last(lab).body.toString(), '0'.repeat(64));
  }
  const unsigned = `5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n`;
  const headers = {
    ...streaming(5, 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'),
    'x-amz-trailer': 'x-amz-checksum-crc32',
  };
  t.equal((await lab.call('/bucket/key', { method: 'PUT', headers, body: unsigned })).status, 200);
  t.ok(isSigned(last(lab)));
  t.equal(last(lab).body.toString(), unsigned);
});

/** The key of an account of Stripe, in two parts that say nothing. */
const found = ['sk_live_51H8vRkJq2mX', 'pW9sTzYbNcLdE4fGuKo'] as const;

t.test('reads an upload as it will be kept, without its chunks', async (t) => {
  const lab = await startAwsLab(t);
  const pieces = [`${filler}${found[0]}`, `${found[1]} and so on`];
  const headers = streaming(pieces.join('').length);
  const { status } = await lab.call('/bucket/key', { method: 'PUT', headers, body: chunked(pieces) });
  t.equal(status, 200);
  t.notMatch(last(lab).body.toString(), found[0], 'a secret that goes over the end of a chunk is cut out');
  t.match(last(lab).body.toString(), /\[REDACTED:[^\]]*\] and so on$/);
  t.ok(isSigned(last(lab)));

  const hidden: Record<string, string> = {
    'in an extension': chunked([filler]).replace(
      ';chunk-signature=',
      `;note=${found.join('')};chunk-signature=`,
    ),
    'in a trailer': chunked([filler], [`x-amz-checksum-sha256:${found.join('')}`]),
    'behind the end': `${chunked([filler])}${found.join('')}`,
    'in no chunks at all': filler,
  };
  for (const [name, text] of Object.entries(hidden)) {
    const reply = await lab.call('/bucket/key', {
      method: 'PUT',
      headers: streaming(filler.length),
      body: text,
    });
    t.equal(reply.status, 403, `hidden ${name}`);
  }
  t.equal(lab.upstream.requests.length, 1);
});

t.test('signs what is left of a body that is sanitized', async (t) => {
  const lab = await startAwsLab(t);
  const rule = { rule_id: 'cut', priority: 1, match: {}, condition: {}, action: 'SANITIZE' };
  t.equal((await lab.gateway.apply([rule])).status, 200);
  const text = `the key is ${found.join('')} for now`;
  for (const body of [text, chunked([`${filler}${text}`])]) {
    const headers =
      body === text ? {} : { ...streaming(filler.length + text.length), 'content-encoding': 'aws-chunked' };
    const { status } = await lab.call('/bucket/key', { method: 'PUT', headers, body });
    t.equal(status, 200);
    t.ok(isSigned(last(lab)));
    const sent = last(lab);
    t.notMatch(sent.body.toString(), found[1]);
    t.equal(sent.headers['x-amz-content-sha256'], hash('sha256', sent.body));
    t.equal(sent.headers['content-encoding'], undefined);
    t.equal(sent.headers['x-amz-decoded-content-length'], undefined);
  }
});

t.test('shows nothing of the keys, as AWS does where a signature is wrong', async (t) => {
  const lab = await startAwsLab(t, (request, response) => {
    response.statusCode = 403;
    response.end(
      `<AWSAccessKeyId>${keys.accessKeyId}</AWSAccessKeyId>${request.headers.authorization} ${keys.secretAccessKey}`,
    );
  });
  const { body } = await lab.call('/bucket/key');
  t.notMatch(body.toString(), keys.accessKeyId);
  t.notMatch(body.toString(), keys.secretAccessKey);
  t.match(body.toString(), `<AWSAccessKeyId>${label}</AWSAccessKeyId>`);
});

t.test('takes keys from the vault, and region and service from the configuration', async (t) => {
  const lab = await startAwsLab(t, undefined, {
    vault: true,
    access_key_id: undefined,
    secret_access_key: undefined,
  });
  const secret = {
    access_key_id: keys.accessKeyId,
    secret_access_key: keys.secretAccessKey,
    session_token: 'TOKEN',
  };
  const put = (fields: object) =>
    lab.admin('PUT', '/v1/credentials/aws', { type: 'aws_sigv4', secret: fields });
  t.equal((await put({ access_key_id: 'a b', secret_access_key: 'x' })).status, 400);
  t.equal((await put({ ...secret, region: 'evil', service: 'sts' })).status, 200);
  t.equal((await lab.call('/bucket/key')).status, 200);
  t.ok(isSigned(last(lab)), 'the configuration says for what it may sign');
  t.equal(last(lab).headers['x-amz-security-token'], 'TOKEN');
});
