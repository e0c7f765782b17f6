import { createHmac, hash, randomBytes } from 'node:crypto';
import { parseUuid } from '../../core/ids.ts';
import { sessionCookie } from '../../core/session-cookie.ts';
import type { Gate } from '../../decision/gate.ts';

/*
 * The cookie of a session is its tenant, its id and 256 random bits, of which the state keeps a hash. The
 * CSRF token is a keyed hash under those bits. So whoever reads the state can make neither, and nothing more
 * has to be kept.
 *
 * Browsers send a cookie to every port of a host. So its name has eight digits of a hash under the pepper,
 * which all nodes of one deployment share, and no other. Where the browser came by TLS, `__Host-` keeps
 * others from setting the cookie without TLS.
 */

/** The part of the gate that names and checks a cookie. */
type CookieGate = Pick<Gate, 'hashKey' | 'config'>;

const nameOf = ({ hashKey }: CookieGate): string =>
  `${sessionCookie}_${hashKey(hash('sha256', sessionCookie)).slice(0, 8)}`;

/** The header that a request with a cookie shows the CSRF token in. */
export const csrfHeader = 'x-postern-csrf';

/** The claims of a cookie. None of them is believed before the state has been asked. */
export interface SessionCookie {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly token: string;
}

export const newSessionToken = (): string => randomBytes(32).toString('base64url');

export const tokenHashOf = (token: string): string => hash('sha256', token);

export const csrfTokenOf = (token: string): string =>
  createHmac('sha256', token).update('postern csrf').digest('base64url');

/** Returns the value of `Set-Cookie` for a session; `ended` makes the browser drop the cookie. */
export function setCookie(gate: CookieGate, cookie: SessionCookie | 'ended', isSecure: boolean): string {
  const value = cookie === 'ended' ? '' : `${cookie.tenantId}.${cookie.sessionId}.${cookie.token}`;
  const ending = cookie === 'ended' ? '; Max-Age=0' : '';
  const name = isSecure ? `__Host-${nameOf(gate)}` : nameOf(gate);
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${ending}`;
}

const shape = /^([A-Za-z0-9_-]{1,64})\.([0-9a-f-]{36})\.([A-Za-z0-9_-]{43})$/;

/** Returns the session that a `Cookie` field names; undefined where it names none, or more than one. */
export function readCookie(gate: CookieGate, field: string): SessionCookie | undefined {
  if (!field.includes(sessionCookie)) return undefined;
  const pairs = field.split(/[;,]/).map((it) => it.trim());
  const valuesOf = (name: string): readonly string[] =>
    pairs.filter((it) => it.startsWith(`${name}=`)).map((it) => it.slice(name.length + 1));
  const name = nameOf(gate);
  const secure = valuesOf(`__Host-${name}`);
  // Without TLS here, a proxy in front may have TLS or not, so that both names count. With TLS here, whoever
  // can write plain text may have set the plain name.
  const values = secure.length > 0 || gate.config.control.tls !== null ? secure : valuesOf(name);
  if (values.length !== 1) return undefined;
  const [, tenantId = '', id = '', token = ''] = shape.exec(values[0] ?? '') ?? [];
  const sessionId = parseUuid(id);
  if (sessionId === undefined) return undefined;
  return { tenantId, sessionId, token };
}
