import { type Target, targetWithin } from '../target.ts';
import { createScrub, type Scrub } from '../upstream/scrub.ts';

/** The secrets of a credential, by its type: what the configuration or the vault holds. */
export type Secret =
  | { readonly type: 'bearer'; readonly value: string }
  | { readonly type: 'basic'; readonly username: string; readonly password: string }
  | { readonly type: 'headers'; readonly values: ReadonlyMap<string, string> }
  | { readonly type: 'query'; readonly parameter: string; readonly value: string };

/** A request before it is made ready to send. `headers` is flat. */
export interface Injectable {
  readonly target: Target;
  readonly headers: readonly string[];
}

/** A credential that is ready to be sent, and to be looked for in the answer. */
export interface Injection {
  /** The request with the credential, and without what the agent has sent in its place. */
  apply(request: Injectable): Injectable;
  readonly scrub: Scrub;
}

/**
 * Asked for, because the answer must be read: in no coding that would have to be undone first, and whole, for one who got it in pieces
 * of his choice would get the secret in pieces, too.
 */
const replaced: ReadonlySet<string> = new Set(['authorization', 'accept-encoding', 'range', 'if-range']);

export function toInjection(secret: Secret): Injection {
  const headers = headersOf(secret);
  const names = new Set([...headers.keys()].map(toFieldName));
  const flat = [...headers].flat();
  return {
    scrub: createScrub(secretsOf(secret, headers)),
    apply: (request) => ({
      target:
        secret.type === 'query'
          ? withParameter(request.target, secret.parameter, secret.value)
          : request.target,
      headers: [
        ...request.headers.filter((_, i) => {
          const name = toFieldName(request.headers[i & ~1] as string);
          return !replaced.has(name) && !names.has(name);
        }),
        'Accept-Encoding',
        'identity',
        ...flat,
      ],
    }),
  };
}

/** There are servers to which `X_Api_Key` is `X-Api-Key` (RFC 3875, 4.1.18). */
const toFieldName = (name: string): string => name.toLowerCase().replaceAll('_', '-');

function headersOf(secret: Secret): ReadonlyMap<string, string> {
  switch (secret.type) {
    case 'bearer':
      return new Map([['Authorization', `Bearer ${secret.value}`]]);
    case 'basic':
      return new Map([['Authorization', `Basic ${basicToken(secret.username, secret.password)}`]]);
    case 'headers':
      return secret.values;
    case 'query':
      return new Map();
  }
}

/** RFC 7617, 2. */
const basicToken = (username: string, password: string): string =>
  Buffer.from(`${username}:${password}`, 'latin1').toString('base64');

/** What an answer must not show. Of `Token abc` in a header the part behind the scheme is the secret, also where it stands alone. */
function secretsOf(secret: Secret, headers: ReadonlyMap<string, string>): string[] {
  const sent = [...headers.values()].flatMap((it) => [it, it.slice(it.indexOf(' ') + 1)]);
  if (secret.type === 'basic') return [...sent, secret.password];
  return secret.type === 'query' ? [secret.value] : sent;
}

/** The parameter stands first and alone: of two with one name, some servers take the first and some the last. */
function withParameter(target: Target, name: string, value: string): Target {
  const { scheme, host, port, path } = target;
  const mark = path.indexOf('?');
  const kept =
    mark < 0
      ? []
      : path
          .slice(mark + 1)
          .split('&')
          .filter((pair) => !names(pair, name));
  const query = [
    `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
    ...kept.filter((it) => it !== ''),
  ];
  const whole = `${mark < 0 ? path : path.slice(0, mark)}?${query.join('&')}`;
  return targetWithin(scheme as 'http' | 'https', host, port, whole);
}

/** Also as servers read it that take `;` for `&`, or `name[]` for a list of that name. */
const names = (pair: string, name: string): boolean =>
  pair.split(';').some((it) => {
    const written = decode(it.split('=', 1)[0] ?? '');
    return written === name || written.startsWith(`${name}[`);
  });

const decode = (text: string): string => {
  const once = (it: string): string =>
    it.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return once(once(text.replaceAll('+', ' '))).trim();
};
