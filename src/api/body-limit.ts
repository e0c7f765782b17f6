import { parseDescribed } from '../core/target.ts';
import { unsaidBytesMax } from '../decision/body-limit.ts';
import type { Gate } from '../decision/gate.ts';
import type { Caller, Route } from './route.ts';

/** Returns how many bytes the body of a call may have, by the caller's tenant, or else by the daemon. */
export function apiBodyBytesMaxOf({ config, tenants }: Gate, caller: Caller): number {
  const tenant = caller.kind === 'key' ? tenants.find(caller.identity.tenantId) : undefined;
  return tenant?.maxBodyBytes ?? config.limits.maxBodyBytes;
}

/** Bytes that a request may have around the body of the call that it describes. */
const envelopeBytesMax = 65_536;

/**
 * Returns how many bytes a request that may describe a call may have. Without `url` it is the limit of the
 * largest call that the caller may describe.
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
 * Returns the URL of a description where it stands in the first 4 KB, else undefined. A body that is too
 * large for that URL need not be parsed. Nothing else may rely on this URL.
 */
export function urlAtBeginning(raw: Buffer): string | undefined {
  const [, url] = urlMember.exec(raw.toString('latin1', 0, beginningBytes)) ?? [];
  try {
    return url === undefined ? undefined : JSON.parse(url);
  } catch {
    return undefined;
  }
}
