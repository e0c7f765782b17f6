import { X509Certificate } from 'node:crypto';
import { hostname } from 'node:os';
import type { Config } from '../../config/schema.ts';
import { normaliseHost } from '../../core/target.ts';
import { isDisguised } from '../../util/addresses.ts';
import { toHostMatcher } from '../../wire/client/reach/host-glob.ts';
import type { ListenersTls } from './listener-tls.ts';

const loopback = /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|::1)$/;

/**
 * Returns what tells whether a host, in its normal form, is a name of this daemon. Names are those of the
 * loopback, of this machine and of a listener. Names in a listener's certificate and in `control.names`
 * count, too. Addresses that lead elsewhere than they say are names only where `control.names` has them.
 */
export function createOwnNames(
  { proxy, control }: Pick<Config, 'proxy' | 'control'>,
  tls: ListenersTls,
  ownListeners: () => readonly { readonly address: string }[],
): (host: string) => boolean {
  const listening = [...proxy.listen, ...control.listen].flatMap((it) =>
    it.kind === 'tcp' ? [it.host] : [],
  );
  const machine = normaliseHost(hostname());
  const exact = new Set([...listening, ...(machine === undefined ? [] : [machine])]);
  const certified = [tls.proxy, tls.control].flatMap((it) => (it ? namesIn(it.cert) : []));
  const shown = certified.map(toHostMatcher);
  const configured = control.names.map(toHostMatcher);
  const isFound = (host: string): boolean =>
    exact.has(host) ||
    shown.some((matches) => matches(host)) ||
    ownListeners().some(({ address }) => address === host);
  return (host) =>
    loopback.test(host) ||
    configured.some((matches) => matches(host)) ||
    (!isDisguised(host) && isFound(host));
}

/** Returns the subject alternative names of the first certificate (RFC 5280, 4.2.1.6). */
const namesIn = (pem: Buffer): string[] =>
  [...(new X509Certificate(pem).subjectAltName ?? '').matchAll(/(?:DNS|IP Address):([\w.:*-]+)/g)].map(
    ([, name = '']) => name.toLowerCase(),
  );
