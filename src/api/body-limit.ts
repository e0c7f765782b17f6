import { parseDescribed } from '../core/target.ts';
import { unsaidBytesMax } from '../decision/body-limit.ts';
import type { Gate } from '../decision/gate.ts';
import type { Caller, Route } from './route.ts';

/** Returns bytes that the body of a call may have: as the tenant of the caller says, else the daemon. */
export function apiBodyBytesMaxOf({ config, tenants }: Gate, caller: Caller): number {
  const tenant = caller.kind === 'key' ? tenants.find(caller.identity.tenantId) : undefined;
  return tenant?.maxBodyBytes ?? config.limits.maxBodyBytes;
}

/** Bytes that the API may add around the body of a described call. */
const envelopeBytesMax = 65_536;

/**
 * Returns the limit of a request that may describe a call. Without `url` it is that of the largest call that
 * the caller may describe.
 */
export function describedBytesMaxOf(
  gate: Gate,
  { access, bodyBytesMax, describesCall }: Route,
  caller: Caller,
  url?: string,
): number {
  if (bodyBytesMax !== undefined) return bodyBytesMax;
  const own = apiBodyBytesMaxOf(gate, caller);
  if (caller.kind !== 'key') return own + envelopeBytesMax;
  const { tenantId } = caller.identity;
  const toolMax = access === 'call' ? gate.toolSettings.largestMaxBodyBytes(tenantId) : 0;
  const vendorMax = describesCall ? vendorBytesMax(gate, tenantId, url) : 0;
  return Math.max(own, toolMax, vendorMax) + envelopeBytesMax;
}

function vendorBytesMax(gate: Gate, tenantId: string, url: string | undefined): number {
  if (gate.tenants.find(tenantId)?.bodyLimitSetBy !== null) return 0;
  if (url !== undefined) return URL.canParse(url) ? unsaidBytesMax(gate, tenantId, parseDescribed(url)) : 0;
  return Math.min(gate.catalogues.of(tenantId).bodyLimits.largest, gate.config.limits.maxBodyBytesTotal);
}

const beginningBytes = 4096;
const urlMember = /^\s*\{[^{}[\]]*?"url"\s*:\s*("(?:[^"\\]|\\.)*")/;

/**
 * Returns the URL that a description begins with, as far as its first bytes tell it. What is too large for it
 * need not be parsed. What it says holds for nothing else.
 */
export function urlAtBeginning(raw: Buffer): string | undefined {
  const [, url] = urlMember.exec(raw.toString('latin1', 0, beginningBytes)) ?? [];
  try {
    return url === undefined ? undefined : JSON.parse(url);
  } catch {
    return undefined;
  }
}
