import { setTimeout as sleep } from 'node:timers/promises';
import type { Listing } from '../../api/answers.ts';
import { createHttpClient, type HttpRequest, readAnswerBody } from '../../wire/client/http-client.ts';
import { urlHere, urlOf } from './addresses.ts';
import { AnswerError, readRefusal } from './answer-error.ts';
import { readAddresses } from './configuration.ts';
import { isUnknown, unknownSecret } from './remedies.ts';
import { type Speaker, secretFor } from './secrets.ts';

/** Options of every command. */
export interface CommonOptions {
  readonly url?: string;
  readonly config?: string;
  readonly json?: boolean;
  /** Set where tables may be as wide as they become, with whole ids. */
  readonly wide?: boolean;
  /** The tenant that the admin secret acts for. */
  readonly tenant?: string;
}

type Method = HttpRequest['method'];
export type UrlQuery = Readonly<Record<string, string | undefined>>;

/** Talks to the control plane of a daemon. A refusal is thrown as a sentence for people, without secrets. */
export interface Client {
  get<T>(path: string, query?: UrlQuery): Promise<T>;
  send<T>(method: Exclude<Method, 'GET'>, path: string, body?: unknown, query?: UrlQuery): Promise<T>;
  /** Yields the pages of a list, one at a time, to its end. */
  pages<T>(path: string, query?: UrlQuery): AsyncGenerator<readonly T[]>;
  /** Streams an answer of any length. Throws where it breaks off, or nothing comes for half a minute. */
  download(path: string, query?: UrlQuery): AsyncGenerator<Uint8Array>;
}

const urlDefault = 'http://127.0.0.1:8081';
const requestTimeoutMs = 30_000;
/** Broken connections after which `readiness` gives up. A start of the daemon takes only seconds. */
const resetsMax = 20;
const betweenResetsMs = 250;
const answerBytesMax = 128 * 1024 * 1024;

/**
 * Sends a request straight to where its URL leads. It never takes the proxy that a shell exports for its
 * agents: an operator's secret is not for the gateway to read.
 */
const send = createHttpClient({ connect: 'unguarded', idleTimeoutMs: requestTimeoutMs });

/**
 * Returns a client for the daemon that the options or the shell name. `as` says for whom the command speaks:
 * `operator` uses the admin secret, or else the key. `agent` uses the key, since every call belongs to a key.
 */
export async function openClient(options: CommonOptions, as: Speaker = 'operator'): Promise<Client> {
  return clientFor(await controlUrl(options), await secretFor(as, options), options);
}

/** Returns a client for the control plane at `base`. `secret` is a key or the admin secret. */
export function clientFor(base: URL, secret: string, options: CommonOptions = {}): Client {
  const authorization = `Bearer ${secret}`;

  function urlFor(path: string, query: UrlQuery): URL {
    const url = new URL(path, base);
    const asked = { tenant_id: options.tenant, ...query };
    for (const [name, value] of Object.entries(asked))
      if (value !== undefined) url.searchParams.set(name, value);
    return url;
  }

  async function ask(method: Method, path: string, query: UrlQuery = {}, body?: unknown): Promise<unknown> {
    const url = urlFor(path, query);
    const headers = { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const { status, answer } = await exchange(url, { method, headers, ...text });
    if (isDone(status)) return answer;
    const remedy = isUnknown(status, answer) ? `\n${unknownSecret(secret, options.config)}` : '';
    throw new AnswerError(answer, status, remedy);
  }

  async function* pages<T>(path: string, query: UrlQuery = {}) {
    let cursor: string | undefined;
    do {
      const page = (await ask('GET', path, { limit: '1000', ...query, cursor })) as Listing<T>;
      yield page.items;
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }

  return {
    get: <T>(path: string, query?: UrlQuery) => ask('GET', path, query) as Promise<T>,
    send: <T>(method: Method, path: string, body?: unknown, query?: UrlQuery) =>
      ask(method, path, query, body) as Promise<T>,
    pages,
    download: (path, query = {}) => readAsItComes(urlFor(path, query), { authorization }),
  };
}

/**
 * Returns the answer of `/readyz`, whether the daemon is ready or not, and the URL that was asked. A daemon
 * that begins to listen closes what was open before, so it is asked again.
 */
export async function readiness(options: CommonOptions): Promise<{ url: string } & Exchanged> {
  const base = await controlUrl(options);
  for (let tries = 1; ; tries += 1) {
    try {
      return { url: base.origin, ...(await exchange(new URL('/readyz', base), { method: 'GET' })) };
    } catch (error) {
      if (tries === resetsMax || codeBehind((error as Error).cause) !== 'ECONNRESET') throw error;
      await sleep(betweenResetsMs);
    }
  }
}

/** Tells whether a daemon answers at all. */
export async function isAnswering(options: CommonOptions): Promise<boolean> {
  try {
    await exchange(new URL('/healthz', await controlUrl(options)), { method: 'GET' });
    return true;
  } catch {
    return false;
  }
}

/** Tells whether the daemon at `url` refuses a key as unknown or revoked. */
export async function isRefused(url: string, key: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${key}` };
  const { status, answer } = await exchange(new URL('/v1/feeds', url), { method: 'GET', headers });
  return isUnknown(status, answer);
}

/** Returns the URL of the control plane, as it is named, or as the configured daemon has written it down. */
async function controlUrl({ url: named, config }: CommonOptions): Promise<URL> {
  const text = named || process.env['POSTERN_URL'] || (await configuredUrl(config)) || urlDefault;
  const url = URL.parse(text);
  // The text may hold a password, which an error would quote.
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new Error('the URL of the control plane must be http:// or https://, without user and password.');
  return url;
}

async function configuredUrl(named: string | undefined): Promise<string | undefined> {
  const { file, config } = await readAddresses(named);
  return file === undefined ? urlHere(config, 'control') : urlOf(config, 'control');
}

interface Exchanged {
  readonly status: number;
  readonly answer: unknown;
}

type Outgoing = Pick<HttpRequest, 'method' | 'body'> & Partial<Pick<HttpRequest, 'headers'>>;

async function exchange(url: URL, outgoing: Outgoing): Promise<Exchanged> {
  const signal = AbortSignal.timeout(requestTimeoutMs);
  let status: number;
  let text: string;
  try {
    const answer = await send({ headers: {}, ...outgoing, url: url.href, signal });
    status = answer.status;
    text = (await readAnswerBody(answer.body, answerBytesMax)).toString();
  } catch (error) {
    throw new Error(`${url.origin} cannot be asked: ${reasonOf(error)}. Does the daemon run there?`, {
      cause: error,
    });
  }
  try {
    return { status, answer: JSON.parse(text) };
  } catch {
    throw new Error(`${url.origin} answered ${status}, and not as the control plane of Postern does.`);
  }
}

async function* readAsItComes(
  url: URL,
  headers: Readonly<Record<string, string>>,
): AsyncGenerator<Uint8Array> {
  try {
    const { status, body } = await send({ url: url.href, method: 'GET', headers });
    if (!isDone(status)) throw readRefusal((await readAnswerBody(body, answerBytesMax)).toString(), status);
    yield* body;
  } catch (error) {
    if (error instanceof AnswerError) throw error;
    throw new Error(`${url.origin} has not answered to the end: ${reasonOf(error)}.`, { cause: error });
  }
}

const isDone = (status: number): boolean => status >= 200 && status < 300;

function reasonOf(error: unknown): string {
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError' || code === 'UPSTREAM_TIMEOUT')
    return `no answer in ${requestTimeoutMs / 1000} seconds`;
  const behind = codeBehind(error);
  if (behind === 'ECONNRESET')
    return 'it has closed the connection, as a daemon does that is starting or ending';
  return behind ?? message.replace(/\.$/, '');
}

/** Returns the code that the system gave a failure. */
const codeBehind = (error: unknown): string | undefined =>
  (Object(Object(error).cause) as NodeJS.ErrnoException).code;
