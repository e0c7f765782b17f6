import type { Call, Threat } from '../call.ts';
import type { TenantConfig } from '../config/schema.ts';
import type { Feeds } from '../feeds/feeds.ts';
import type { ThreatHit } from '../feeds/threat-index.ts';
import { ifValid, parseTarget, type Target } from '../target.ts';
import { compileDenylist, type Denylist } from './denylist.ts';
import type { Tenants } from './tenants.ts';

/** What threat feeds list of a call: where it goes, and the URLs in what it carries; save what its tenant allows. */
export type FindThreats = (call: Call) => readonly Threat[];

/** Of one call. */
const urlsMax = 500;
const threatsMax = 16;
const urlBytesMax = 2048;
const schemeBytesMax = 16;
const schemeEnd = Buffer.from('://');
const none: readonly Threat[] = Object.freeze([]);

export function createThreatFinder(feeds: Pick<Feeds, 'index'>, tenants: Pick<Tenants, 'find'>): FindThreats {
  const allowlists = new WeakMap<TenantConfig, Denylist>();

  function isAllowed(tenant: TenantConfig, target: Target): boolean {
    if (tenant.allowlist.length === 0) return false;
    const allowlist = allowlists.get(tenant) ?? compileDenylist(tenant.allowlist);
    allowlists.set(tenant, allowlist);
    return allowlist(target);
  }

  return (call) => {
    const { index } = feeds;
    const tenant = call.identity && tenants.find(call.identity.tenantId);
    if (index.indicators === 0 || !tenant) return none;
    const threats: Threat[] = [];
    const add = (
      hit: ThreatHit | undefined,
      location: Threat['location'],
      target: Target | undefined,
    ): void => {
      if (hit && threats.length < threatsMax && !(target && isAllowed(tenant, target)))
        threats.push({ ...hit, location });
    };
    const targets = new Set([
      call.target,
      ...(call.operation?.parts?.flatMap((it) => it.target ?? []) ?? []),
    ]);
    for (const target of targets) add(index.findTarget(target), 'target', target);
    for (const url of urlsIn(call.bodyTexts)) {
      const hit = index.findUrl(url);
      if (!hit) continue;
      const target = ifValid(() => parseTarget(url));
      add(hit, 'body', target);
    }
    return threats.length > 0 ? threats : none;
  };
}

/** The URLs in texts, in any scheme, each once; at most 500. */
function urlsIn(texts: readonly Buffer[]): ReadonlySet<string> {
  const urls = new Set<string>();
  for (const text of texts) {
    for (let at = text.indexOf(schemeEnd); at >= 0; at = text.indexOf(schemeEnd, at + schemeEnd.length)) {
      if (urls.size >= urlsMax) return urls;
      urls.add(text.toString('latin1', startOf(text, at), endOf(text, at + schemeEnd.length)));
    }
  }
  return urls;
}

const isLetter = (byte: number | undefined): boolean =>
  byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;

function startOf(text: Buffer, at: number): number {
  let start = at;
  while (start > at - schemeBytesMax && isLetter(text[start - 1])) start -= 1;
  return start;
}

/** White space, quotes, angle brackets and backslashes end a URL, in any format that carries one. */
const isEnd = (byte: number): boolean =>
  byte <= 0x20 ||
  byte === 0x22 ||
  byte === 0x27 ||
  byte === 0x3c ||
  byte === 0x3e ||
  byte === 0x5c ||
  byte === 0x60;

function endOf(text: Buffer, from: number): number {
  const last = Math.min(text.length, from + urlBytesMax);
  let end = from;
  while (end < last && !isEnd(text[end] as number)) end += 1;
  return end;
}
