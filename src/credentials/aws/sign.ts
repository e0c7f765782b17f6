import { createHmac, hash } from 'node:crypto';
import { GatewayError } from '../../core/errors.ts';
import { type AwsChunks, awsChunk, parseAwsChunked, saysAwsChunked } from '../../wire/http1/aws-chunked.ts';
import { canonicalAwsPath, canonicalHeaders, canonicalQuery } from './canonical.ts';

/*
 * Signs requests with AWS Signature Version 4 ("Create a signed AWS API request", IAM User Guide). This is
 * own code, because no library fits. The library @smithy/signature-v4 signs promises of parsed requests
 * rather than bytes. The library aws4 takes one of several values of a parameter. None signs the chunks of a
 * streamed body anew.
 */

export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The session token of temporary keys; undefined for lasting ones. */
  readonly sessionToken: string | undefined;
}

export interface AwsScope {
  /** The service as signatures name it. */
  readonly service: string;
  readonly region: string;
}

/** A request as it goes out: nothing that is signed changes later. */
export interface Signable {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** A flat list of the headers, with Host among them. */
  readonly headers: readonly string[];
  readonly body: Buffer | undefined;
}

interface SigningTerms {
  readonly keys: AwsKeys;
  readonly scope: AwsScope;
  readonly nowMs: number;
}

const algorithm = 'AWS4-HMAC-SHA256';
const emptyHash = hash('sha256', '');
const noBytes = Buffer.alloc(0);

/**
 * Names, in lower case, of fields that the signature makes anew: whoever sends the request must not have a
 * say in them.
 */
export const signatureFields: readonly string[] = [
  'authorization',
  'x-amz-date',
  'x-amz-security-token',
  'x-amz-content-sha256',
  'x-amz-region-set',
  'x-amz-s3session-token',
];

/** Tells whether a service wants the hash of the body as a header. */
const isHashSent = (service: string): boolean => /^(?:s3.*|aoss|glacier|vpc-lattice-svcs)$/.test(service);

/** Tells whether a service is one of S3, which has its paths escaped once. */
const isS3 = (service: string): boolean => service.startsWith('s3');

/**
 * Returns the request with its signature. Chunks in its body are signed anew where they were signed. The hash
 * of the whole body is signed even where the sender did not mean to. Throws VALIDATION_FAILED for malformed
 * chunks, and CREDENTIAL_UNAVAILABLE for a kind of body that cannot be signed here.
 */
export function signRequest<Request extends Signable>(
  request: Request,
  { keys, scope, nowMs }: SigningTerms,
): Request {
  const time = toAmzTime(nowMs);
  const body = request.body ?? noBytes;
  const payload = toPayload(soleField(request.headers, 'x-amz-content-sha256'), body);
  const headers = request.headers.filter(
    (_, i) => !signatureFields.includes((request.headers[i & ~1] as string).toLowerCase()),
  );
  headers.push('X-Amz-Date', time);
  if (keys.sessionToken !== undefined) headers.push('X-Amz-Security-Token', keys.sessionToken);
  if (payload.chunks || isHashSent(scope.service)) headers.push('X-Amz-Content-Sha256', payload.sha256);

  const sign = signerFor(keys, scope, time);
  const { text, names } = canonicalRequest({ ...request, headers }, payload.sha256, isS3(scope.service));
  const signature = sign(algorithm, hash('sha256', Buffer.from(text, 'latin1')));
  const credential = `${keys.accessKeyId}/${toScope(scope, time)}`;
  headers.push(
    'Authorization',
    `${algorithm} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`,
  );
  const signed = payload.areSigned ? signChunks(payload.chunks, signature, sign) : request.body;
  return { ...request, headers, body: signed };
}

/** The value of `x-amz-content-sha256`, and the chunks where the body has some. */
type Payload =
  | { readonly sha256: string; readonly chunks?: undefined; readonly areSigned?: false }
  | { readonly sha256: string; readonly chunks: AwsChunks; readonly areSigned: boolean };

const signedChunks = /^STREAMING-AWS4-(?:HMAC|ECDSA-P256)-SHA256-PAYLOAD(-TRAILER)?$/i;
const unsignedChunks = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';

function toPayload(said: string, body: Buffer): Payload {
  if (!saysAwsChunked(said)) return { sha256: hash('sha256', body) };
  const [isSigned, trailer = ''] = signedChunks.exec(said.trim()) ?? [];
  if (!isSigned && said.trim().toUpperCase() !== unsignedChunks)
    throw new GatewayError(
      'CREDENTIAL_UNAVAILABLE',
      'A body of the kind that x-amz-content-sha256 names cannot be signed; send it in one piece.',
    );
  const chunks = parseAwsChunked(body);
  if (!chunks)
    throw new GatewayError(
      'VALIDATION_FAILED',
      'x-amz-content-sha256 says that the body is in chunks (aws-chunked), and it is not, or in too many.',
    );
  const sha256 = isSigned ? `STREAMING-${algorithm}-PAYLOAD${trailer.toUpperCase()}` : unsignedChunks;
  return { sha256, chunks, areSigned: isSigned !== undefined };
}

function canonicalRequest({ method, path, headers }: Signable, bodyHash: string, ofS3: boolean) {
  const mark = path.indexOf('?');
  const [way, query] = mark < 0 ? [path, ''] : [path.slice(0, mark), path.slice(mark + 1)];
  const { lines, names } = canonicalHeaders(headers);
  const parts = [method, canonicalAwsPath(way, ofS3), canonicalQuery(query), lines, names, bodyHash];
  return { text: parts.join('\n'), names };
}

/** Returns the signature, in hex, of an algorithm, the time, the scope and further lines. */
type Sign = (algorithm: string, ...rest: readonly string[]) => string;

function signerFor(keys: AwsKeys, scope: AwsScope, time: string): Sign {
  const parts = [time.slice(0, 8), scope.region, scope.service, 'aws4_request'];
  const key = parts.reduce<string | Buffer>(
    (derived, part) => createHmac('sha256', derived).update(part).digest(),
    Buffer.from(`AWS4${keys.secretAccessKey}`, 'latin1'),
  );
  return (name, ...rest) =>
    createHmac('sha256', key)
      .update([name, time, toScope(scope, time), ...rest].join('\n'))
      .digest('hex');
}

/**
 * Writes the chunks with new signatures. Each signature covers the one before it, the first covers that of
 * the head.
 */
function signChunks({ chunks, trailers }: AwsChunks, seed: string, sign: Sign): Buffer {
  const parts: Buffer[] = [];
  let last = seed;
  for (const chunk of [...chunks, noBytes]) {
    last = sign(`${algorithm}-PAYLOAD`, last, emptyHash, hash('sha256', chunk));
    parts.push(...awsChunk(chunk, last));
  }
  for (const trailer of trailers) parts.push(Buffer.from(`${trailer.join(':')}\r\n`));
  if (trailers.length > 0) {
    const lines = trailers.map((it) => `${it.join(':')}\n`).join('');
    const signature = sign(`${algorithm}-TRAILER`, last, hash('sha256', lines));
    parts.push(Buffer.from(`x-amz-trailer-signature:${signature}\r\n`));
  }
  return Buffer.concat([...parts, Buffer.from('\r\n')]);
}

const toScope = ({ region, service }: AwsScope, time: string): string =>
  `${time.slice(0, 8)}/${region}/${service}/aws4_request`;

/** Returns a time in the short form of ISO 8601, in seconds. */
const toAmzTime = (ms: number): string => new Date(ms).toISOString().replace(/[-:]|\.\d{3}/g, '');

/** Returns the value of a field that the request has once, else ''. */
function soleField(headers: readonly string[], name: string): string {
  const values = headers.filter((_, i) => i % 2 === 1 && (headers[i - 1] as string).toLowerCase() === name);
  return values.length === 1 ? (values[0] as string) : '';
}
