import { isSame, readBounded, toLatin1Bytes, toText } from './bytes.ts';
import { PosternError } from './errors.ts';

/**
 * A call as it will be sent. All of it is read once from what `fetch` was given, before the gateway is asked.
 * So a getter, a stream or an object that changes meanwhile cannot make another call of the one that was
 * judged.
 */
export interface OutgoingCall {
  readonly method: string;
  /** The URL without a fragment, which is never sent. */
  readonly url: string;
  /** Values by names in lower case, each name once, as `Headers` joins them. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
}

export interface TakenCall {
  readonly call: OutgoingCall;
  /** The caller's wish for redirects. */
  readonly redirect: Request['redirect'];
  readonly signal: AbortSignal;
  /** Options of `fetch` that say how to send the call, and not what. */
  readonly manner: RequestInit;
}

/** Options of `fetch` that only some runtimes have; they choose the connection. */
const ownOptions = ['dispatcher', 'client'] as const;

/** Reads what `fetch` is given, with at most `bodyBytesMax` of body. The request is made before any await. */
export function takeCall(
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
  bodyBytesMax: number,
): Promise<TakenCall> {
  const own = Object.fromEntries(
    ownOptions.flatMap((name) => {
      const value: unknown = init && Reflect.get(init, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return take(new Request(input, init), own, bodyBytesMax);
}

async function take(request: Request, own: object, bodyBytesMax: number): Promise<TakenCall> {
  const { method, redirect, signal, credentials, cache, mode, referrer, referrerPolicy } = request;
  const { integrity, keepalive } = request;
  const url = toTarget(request.url);
  const headers = new Map<string, string>();
  request.headers.forEach((value, name) => {
    headers.set(name, value);
  });
  checkHost(url, headers.get('host'));
  const call = { method, url, headers, body: await readBody(request, bodyBytesMax) };
  const manner = { credentials, cache, mode, referrer, referrerPolicy, integrity, keepalive, ...own };
  return { call, redirect, signal, manner };
}

/** Returns the normal form of a URL without its fragment. Throws unless it is a URL of http or https. */
export function toTarget(url: string): string {
  const target = new URL(url);
  if (target.protocol !== 'http:' && target.protocol !== 'https:')
    throw new PosternError('UNSUPPORTED_REQUEST', 'Only calls by http and https can be guarded.');
  target.hash = '';
  return target.href;
}

/** Throws for a `Host` other than the URL's, which could reach another place than the one that is judged. */
function checkHost(url: string, host: string | undefined): void {
  if (host !== undefined && host.toLowerCase() !== new URL(url).host)
    throw new PosternError('UNSUPPORTED_REQUEST', 'The Host of a guarded call must be that of its URL.');
}

async function readBody(request: Request, bytesMax: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (request.body === null) return undefined;
  // Firefox has no such property. It takes no streams either, so the body is in memory already.
  const read = request.body
    ? await readBounded(request.body, bytesMax)
    : { bytes: new Uint8Array(await request.arrayBuffer()), isWhole: true };
  if (!read.isWhole || read.bytes.length > bytesMax)
    throw new PosternError('BODY_TOO_LARGE', `The body of a guarded call may have ${bytesMax} bytes.`, {
      limitBytes: bytesMax,
    });
  return read.bytes;
}

/**
 * Returns the headers as texts whose UTF-8 is what is sent, as the gateway takes them. Throws for bytes that
 * are no UTF-8, since they cannot be described to it.
 */
export function toDescribedHeaders(headers: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries(
    [...headers].map(([name, value]) => {
      const text = toText(toLatin1Bytes(value));
      if (text === undefined)
        throw new PosternError(
          'UNSUPPORTED_REQUEST',
          'A header of a guarded call is neither ASCII nor UTF-8.',
        );
      return [name, text];
    }),
  );
}

/** Matches headers that say something of the body as it was. They would be wrong of another one. */
const fieldsOfBody =
  /^(?:content-(?:length|encoding|md5|digest)|digest|repr-digest|signature|signature-input|x-amz-(?:content-sha256|decoded-content-length|sdk-checksum-algorithm|trailer|checksum-.+))$/;

export function sanitizedCall(call: OutgoingCall, sanitized: Uint8Array | undefined): OutgoingCall {
  const body = call.body ?? new Uint8Array();
  if (sanitized === undefined && body.length > 0)
    throw new PosternError('INVALID_ANSWER', "The gateway's answer has no sanitized_body.");
  if (sanitized === undefined || isSame(sanitized, body)) return call;
  const headers = new Map([...call.headers].filter(([name]) => !fieldsOfBody.test(name)));
  return { ...call, headers, body: new Uint8Array(sanitized) };
}
