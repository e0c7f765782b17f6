import type { Finding, InspectedCall } from '../core/call.ts';
import { counts } from '../inspect/parts/sanitize.ts';
import { hasBasicKey, inBody, type PlacedCredential, placedCredentials } from './credential-places.ts';

/** Bound on the credentials of one call that are looked up; findings in further ones stay findings. */
const placesMax = 32;

/** Kinds that any service may issue. All others have a vendor, or are no credential that a protocol sends. */
export const issuedByAnyone: ReadonlySet<string> = new Set([
  'json-web-token',
  'authorization-basic',
  'authorization-bearer',
  'authorization-header',
  'session-cookie',
  'generic-api-key',
  'generic-token',
  'generic-named-key',
  'generic-named-value',
  'generic-password',
  'url-query-secret',
  'named-service-key',
  'sk-key',
  'kubernetes-token',
  'openshift-token',
  'vault-token',
  'vault-legacy-token',
  'jenkins-token',
  'rancher-token',
  'portainer-token',
  'synapse-token',
  'dependency-track-key',
  'woocommerce-key',
  'wordpress-application-password',
]);

const webToken = 'json-web-token';

const isOfAnyone = ({ kind, vendorHosts }: Finding): boolean =>
  issuedByAnyone.has(kind) && vendorHosts.length === 0;

const overlaps = (finding: Finding, { part, start, end }: PlacedCredential): boolean =>
  finding.part === part && finding.start < end && start < finding.end;

const lies = (finding: Finding, { part, start, end }: PlacedCredential): boolean =>
  finding.part === part && finding.start >= start && finding.end <= end;

/** Tells whether a finding belongs to the credential, and was not put beside it or into it. */
export const isOf = (finding: Finding, credential: PlacedCredential): boolean =>
  isOfAnyone(finding) &&
  lies(finding, credential) &&
  (finding.kind !== webToken || credential.claims !== undefined);

/**
 * Returns the credentials in place whose findings all are of what any service may issue. Nearly no call has
 * any.
 */
export function credentialsOf(call: InspectedCall): readonly PlacedCredential[] {
  const secrets = call.findings.filter((it) => it.class === 'SECRETS' && counts(it));
  const mayAsk = call.method === 'POST' && call.body.length > 0;
  const isInHead = secrets.some(isOfAnyone) || hasBasicKey(call);
  if (!mayAsk && !isInHead) return [];
  const placed = isInHead ? placedCredentials(call) : inBody(call, call.plainBody);
  return placed
    .filter((it) => {
      const found = secrets.filter((finding) => overlaps(finding, it));
      return (it.isBoundUnseen || found.length > 0) && found.every((finding) => isOf(finding, it));
    })
    .slice(0, placesMax);
}

export const textOf = (
  { head, plainBody }: InspectedCall,
  { part, start, end }: Pick<Finding, 'part' | 'start' | 'end'>,
) => (part === 'head' ? head.toString('latin1', start, end) : plainBody.toString('utf8', start, end));
export const foundTexts = (call: InspectedCall, credential: PlacedCredential): readonly string[] => [
  ...new Set(
    call.findings
      .filter((it) => it.class === 'SECRETS' && counts(it) && isOf(it, credential))
      .map((it) => textOf(call, it)),
  ),
];
