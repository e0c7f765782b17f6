import { problemFrom } from './answers.ts';
import { readBounded, toText } from './bytes.ts';
import { PosternError } from './errors.ts';
import { pause, readRetryAfter, within } from './time.ts';

export interface ConnectionOptions {
  /** The address of the gateway's control plane; a path in it stands before those of the API. */
  readonly url: string | URL;
  readonly key: string;
  /** The function that asks the gateway; that of the runtime where absent. */
  readonly fetch?: typeof fetch;
  /** Milliseconds for an answer, the second attempt included; 10,000 by default. */
  readonly timeoutMs?: number;
  /** Milliseconds; a gateway that asks to wait longer is not asked a second time. 5,000 by default. */
  readonly retryAfterMsMax?: number;
  /** Bytes of an answer; a larger one is an error. 16 MB by default. */
  readonly answerBytesMax?: number;
  /** Set to send time and nonce, so that no request can be sent again. Keys with `require_nonce` need it. */
  readonly replayProtection?: boolean;
  /**
   * The word in names such as `X-Service-Nonce`, where the gateway has another one (`branding.header_word`).
   */
  readonly headerWord?: string;
}

interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for the answer, instead of those of the connection. */
  readonly timeoutMs?: number;
}

/**
 * Asks the gateway and resolves with the JSON of its answer. After a failure on the way, or of the gateway
 * (5xx), it asks once more. Throws a PosternError or, where the signal aborts, its reason.
 */
export type Ask = (asked: Asked) => Promise<unknown>;

export const timeoutMsMax = 3_600_000;
const answerBytesMost = 1 << 30;
/** Milliseconds before the second attempt without Retry-After. Up to as much is added, to spread clients. */
const retryMs = 100;

export function createConnection(options: ConnectionOptions): Ask {
  const base = toBase(options.url);
  const key = toKey(options.key);
  const retryAfterMsMax = within('retryAfterMsMax', options.retryAfterMsMax ?? 5000, 0, timeoutMsMax);
  const timeoutMsDefault = within('timeoutMs', options.timeoutMs ?? 10_000, 1, timeoutMsMax);
  const answerBytesMax = within('answerBytesMax', options.answerBytesMax ?? 1 << 24, 1, answerBytesMost);
  const word = toHeaderWord(options.headerWord ?? 'Service');
  const fetchOfRuntime = globalThis.fetch;
  // This is called without an object before it, since the function of browsers refuses to be a method of
  // another.
  const send = options.fetch ?? fetchOfRuntime;

  async function attempt(asked: Asked, body: string | undefined, signal: AbortSignal): Promise<unknown> {
    const response = await send(base + asked.path, {
      method: asked.method,
      headers: {
        Authorization: `Bearer ${key}`,
        Accept: 'application/json',
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(asked.method === 'POST' && options.replayProtection ? replayFields(word) : {}),
      },
      ...(body === undefined ? {} : { body }),
      // Wherever a redirect leads, the key does not go there.
      redirect: 'manual',
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
      signal,
    });
    return await readAnswer(response, key, answerBytesMax);
  }

  return async function ask(asked) {
    const timeoutMs = asked.timeoutMs ?? timeoutMsDefault;
    const deadline = AbortSignal.timeout(timeoutMs);
    const endsAtMs = performance.now() + timeoutMs;
    const signal = asked.signal ? AbortSignal.any([asked.signal, deadline]) : deadline;
    const body = asked.body === undefined ? undefined : JSON.stringify(asked.body);
    const tryOnce = async (): Promise<unknown> => {
      try {
        return await attempt(asked, body, signal);
      } catch (error) {
        asked.signal?.throwIfAborted();
        if (error instanceof PosternError) throw error;
        throw deadline.aborted ? timedOut(timeoutMs, error) : unreachable(error);
      }
    };
    try {
      return await tryOnce();
    } catch (error) {
      const waitMs = waitBeforeRetry(error);
      if (waitMs === undefined || waitMs > retryAfterMsMax || performance.now() + waitMs >= endsAtMs)
        throw error;
      await pause(waitMs, asked.signal);
      return await tryOnce();
    }
  };
}

/** Returns time and nonce, new for each attempt, since a request that failed has used up its nonce. */
function replayFields(word: string): Record<string, string> {
  const nonce = Array.from(crypto.getRandomValues(new Uint8Array(16)), (it) =>
    it.toString(16).padStart(2, '0'),
  );
  return {
    [`X-${word}-Timestamp`]: String(Math.floor(Date.now() / 1000)),
    [`X-${word}-Nonce`]: nonce.join(''),
  };
}

/** Returns the JSON of an answer. Throws for everything else, and beyond `answerBytesMax` bytes. */
async function readAnswer(response: Response, key: string, answerBytesMax: number): Promise<unknown> {
  const { status, body } = response;
  // An answer may repeat the key, also escaped, and errors are shown to many.
  const parse = (text: string | undefined): unknown =>
    parseJson(text, (_, value) => (typeof value === 'string' ? value.replaceAll(key, '[key]') : value));
  const { bytes, isWhole } = body ? await readBounded(body, answerBytesMax) : { bytes: none, isWhole: true };
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400))
    throw new PosternError('INVALID_ANSWER', 'The address of the gateway leads elsewhere.', { status });
  const text = isWhole ? toText(bytes) : undefined;
  if (!response.ok) {
    const retryAfterMs = readRetryAfter(response.headers.get('retry-after'), Date.now());
    throw problemFrom(status, parse(text), retryAfterMs);
  }
  if (!isWhole)
    throw new PosternError('INVALID_ANSWER', `The answer has more than ${answerBytesMax} bytes.`, {
      status,
    });
  const answer = parse(text);
  if (answer === undefined)
    throw new PosternError('INVALID_ANSWER', 'What answers at the address of the gateway is not JSON.', {
      status,
    });
  return answer;
}

/** Returns the milliseconds before asking again; undefined where that would not help, or is not wanted. */
function waitBeforeRetry(error: unknown): number | undefined {
  if (!isPassing(error)) return undefined;
  return error.retryAfterMs ?? Math.ceil(retryMs * (1 + Math.random()));
}

/** Tells whether an error is a failure on the way or of the gateway, which may be over soon. */
export const isPassing = (error: unknown): error is PosternError =>
  error instanceof PosternError && (error.code === 'GATEWAY_UNREACHABLE' || (error.status ?? 0) >= 500);

const none = new Uint8Array();

const timedOut = (timeoutMs: number, cause: unknown): PosternError =>
  new PosternError('GATEWAY_TIMEOUT', `The gateway has not answered within ${timeoutMs} ms.`, {
    cause: nameOf(cause),
  });
const unreachable = (cause: unknown): PosternError =>
  new PosternError('GATEWAY_UNREACHABLE', 'The gateway cannot be reached.', { cause: nameOf(cause) });

/**
 * Returns the code or name of a failure. Its message is not told: parsers of HTTP keep the bytes that they
 * did not understand, which may be the request with its key.
 */
function nameOf(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code: unknown = inner instanceof Error ? Reflect.get(inner, 'code') : undefined;
  if (typeof code === 'string') return code;
  return inner instanceof Error ? inner.name : 'unknown';
}

function parseJson(text: string | undefined, reviver: (name: string, value: unknown) => unknown): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text, reviver);
  } catch {
    // The caller says what this means. The message of the parser would quote the text.
    return undefined;
  }
}

/** Returns the address without a slash at the end. Throws for one that is not a gateway's. */
function toBase(url: string | URL): string {
  const { protocol, username, password, search, hash, origin, pathname } = new URL(url);
  const isPlain = username === '' && password === '' && search === '' && hash === '';
  if (!(protocol === 'http:' || protocol === 'https:') || !isPlain)
    throw new TypeError('url must be that of the gateway: http or https, without user, query or fragment.');
  return origin + pathname.replace(/\/+$/, '');
}

/** Returns the key. Throws where it is not valid, since runtimes would quote it in their own errors. */
function toKey(key: string): string {
  if (!/^[\x21-\x7e]{1,512}$/.test(key)) throw new TypeError('key must be an API key.');
  return key;
}

function toHeaderWord(word: string): string {
  if (!/^[A-Za-z0-9-]{1,64}$/.test(word)) throw new TypeError('headerWord must be a word of a header name.');
  return word;
}
