import { ifValid, parseTarget } from '../core/target.ts';
import { parsedJson } from '../util/parsed-json.ts';

/** The home and the lifetime that a JWT claims. */
export interface Claims {
  /** Hosts of its audience that can be reached from outside. Where there are any, it belongs nowhere else. */
  readonly audience: readonly string[];
  /** The host of its issuer; undefined where the claim names none that can be reached from outside. */
  readonly issuer: string | undefined;
  readonly endsAtMs: number | undefined;
}

const tokenShape = /^[\w-]{2,4096}\.([\w-]{2,16384})\.[\w-]{0,4096}$/;
const audiencesMax = 16;
/**
 * Matches names inside of a network: they say what a service is called there, and not where it is reached.
 */
const insideName = /(?:^[^.]*|\.(?:svc|local|internal|localhost|lan))$/;

/** Returns the claims of a text that is a whole JWT (RFC 7519), else undefined. The server verifies it. */
export function claimsOf(text: string): Claims | undefined {
  const [, payload] = tokenShape.exec(text) ?? [];
  if (payload === undefined) return undefined;
  const claims = parseObject(Buffer.from(payload, 'base64url').toString('utf8'));
  if (!claims) return undefined;
  const { aud, htu, iss, exp } = claims;
  // `htu` names where a proof of possession goes (RFC 9449, 4.2).
  const named = [...(Array.isArray(aud) ? aud.slice(0, audiencesMax) : [aud]), htu];
  return {
    audience: named.flatMap((it) => hostNamedBy(it) ?? []),
    issuer: hostNamedBy(iss),
    endsAtMs: typeof exp === 'number' && exp > 0 ? exp * 1000 : undefined,
  };
}

function hostNamedBy(claim: unknown): string | undefined {
  if (typeof claim !== 'string' || claim.length > 2048 || !/^https?:\/\//i.test(claim)) return undefined;
  const host = ifValid(() => parseTarget(claim))?.host ?? '';
  return insideName.test(host) && !host.includes(':') ? undefined : host;
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parsedJson(text);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}
