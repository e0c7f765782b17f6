/*
 * What the hostile inputs are made of. An input is bytes (a string is latin1, one character for each byte) that are written at one
 * place; none of them may reach an upstream, and each must be answered 4xx or 5xx, or closed.
 */

/**
 * `proxy`, `control`: the bare ports. `tunnel`: in TLS inside a tunnel; `plain tunnel`: without; both speak HTTP/1.1. `tunnel start`: in
 * place of the TLS handshake. `h2`: in TLS inside a tunnel, behind a handshake that agreed on HTTP/2.
 */
export type Place = 'proxy' | 'control' | 'tunnel' | 'plain tunnel' | 'tunnel start' | 'h2';

export interface HostileInput {
  readonly name: string;
  readonly place: Place;
  readonly bytes: (lab: HostileLab) => string | Buffer;
  /** The name in the TLS handshake, where it is another one than that of the tunnel. */
  readonly serverName?: string;
}

/** What an input may have to name. */
export interface HostileLab {
  readonly key: string;
  /** A key that has been revoked. */
  readonly revokedKey: string;
  /** The fields that show the key: to the proxy, and to an inbound route. */
  readonly proxyAuth: string;
  readonly auth: string;
  /** Of a server on 127.0.0.1 that must hear nothing; it stands for all that is inside. */
  readonly insidePort: number;
  readonly proxyPort: number;
  readonly controlPort: number;
}

/** The origin that all may call: in TLS, and in plain HTTP. */
export const secureHost = 'api.test.example';
export const plainHost = 'plain.test.example';
/** Whatever arrives with another path than this has no business there. */
export const goodPath = '/good';

/** It belongs to another tenant than the key. */
export const agentOfAnother = '00000000-0000-4000-8000-00000000000b';

export const many = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join('');
