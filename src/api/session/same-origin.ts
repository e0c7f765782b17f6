import { GatewayError } from '../../core/errors.ts';
import { parseAuthority } from '../../core/target.ts';
import { toHostMatcher } from '../../wire/client/reach/host-glob.ts';
import type { FieldsByName } from '../../wire/http1/field.ts';

/**
 * Throws FORBIDDEN where a browser sends the request for a page of another site. A page of another port of
 * this host counts as another site, although browsers see it otherwise. Browsers tell the site by
 * Sec-Fetch-Site where the connection is trustworthy, and else by Origin. `ownNames` are `control.names`.
 */
export function refuseForeign(headers: FieldsByName, ownNames: readonly string[]): void {
  const relation = headers['sec-fetch-site']?.toLowerCase();
  if (relation === 'same-origin' || relation === 'none') return;
  if (relation !== undefined) throw foreign('Sec-Fetch-Site names another site');
  const origin = headers['origin'];
  if (origin === undefined) return;
  const authority = /^https?:\/\/([^/?#@]+)$/i.exec(origin)?.[1]?.toLowerCase();
  if (authority === undefined) throw foreign('Origin names another site');
  if (authority === headers['host']?.toLowerCase()) return;
  if (authority === headers['x-forwarded-host']?.toLowerCase()) return;
  const host = hostIn(authority);
  // A proxy in front may change Host, so that configured names count. Another port of the host that was asked
  // is another program's.
  const isNamed = host !== undefined && ownNames.some((it) => toHostMatcher(it)(host));
  if (!isNamed || host === hostIn(headers['host'] ?? '')) throw foreign('Origin names another site');
}

const hostIn = (authority: string): string | undefined => parseAuthority(authority, 80)?.host;

const foreign = (why: string): GatewayError =>
  new GatewayError(
    'FORBIDDEN',
    `${why} than this gateway; a name that a proxy gives it belongs to control.names.`,
  );
