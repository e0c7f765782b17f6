import type { TenantConfig } from '../../config/schema.ts';
import { type InspectedCall, type Threat, targetsOf } from '../../core/call.ts';
import { ifValid, parseTarget, type Target } from '../../core/target.ts';
import { urlsIn } from '../../inspect/parts/urls-in-texts.ts';
import type { Feeds } from '../../risk/feeds/feeds.ts';
import type { ThreatHit } from '../../risk/feeds/index/threat-index.ts';
import { compileAllowlist, type DestinationList } from '../../tenants/destination-list.ts';

/** Finds the target of a call, and URLs of its body, in threat feeds. What the tenant allows is left out. */
export type FindThreats = (call: InspectedCall<TenantConfig>) => readonly Threat[];

/** The most threats of one call. */
const threatsMax = 16;
const none: readonly Threat[] = Object.freeze([]);

export function createThreatFinder(feeds: Pick<Feeds, 'index'>): FindThreats {
  const allowlists = new WeakMap<TenantConfig, DestinationList>();

  function isAllowed(tenant: TenantConfig, target: Target): boolean {
    if (tenant.allowlist.length === 0) return false;
    const allowlist = allowlists.get(tenant) ?? compileAllowlist(tenant.allowlist);
    allowlists.set(tenant, allowlist);
    return allowlist(target);
  }

  return (call) => {
    const { index } = feeds;
    const { tenant, inspection } = call;
    if (index.indicators === 0) return none;
    const threats: Threat[] = [];
    const add = (
      hit: ThreatHit | undefined,
      location: Threat['location'],
      target: Target | undefined,
    ): void => {
      if (hit && threats.length < threatsMax && !(target && isAllowed(tenant, target)))
        threats.push({ ...hit, location });
    };
    for (const target of targetsOf(call)) add(index.findTarget(target), 'target', target);
    for (const readings of inspection.bodyUrls ?? urlsIn(inspection.bodyTexts)) {
      const url = readings.find((it) => index.findUrl(it));
      if (url !== undefined)
        add(
          index.findUrl(url),
          'body',
          ifValid(() => parseTarget(url)),
        );
    }
    return threats.length > 0 ? threats : none;
  };
}
