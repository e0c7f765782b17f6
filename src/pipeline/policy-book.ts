import { hash } from 'node:crypto';
import type { Call } from '../call.ts';
import type { DetectorEngine } from '../detectors/engine.ts';
import { GatewayError } from '../errors.ts';
import { derivedId } from '../ids.ts';
import { type CompiledInput, compilePolicies, type PolicySet, parseStoredRules } from '../policy/index.ts';
import type { PolicyDocument } from '../policy/schema.ts';
import type { MaybePromise, PolicyRecord, Store } from '../state/store.ts';

/** The policies of one tenant, and the engine that looks for their words in the pass in which it looks for findings. */
export interface TenantRules {
  readonly rules: PolicySet;
  readonly engine: DetectorEngine;
}

/** The compiled policies of every tenant: made when first asked for, and anew when the tenant's policies have changed. */
export interface PolicyBook {
  /** As the last admitted call of the tenant has found its policies, on whatever node they were applied. */
  rulesFor(tenantId: string): MaybePromise<TenantRules>;
  /** As they were last known, for calls that pass while the state is away; undefined where they never were. */
  lastKnown(tenantId: string): TenantRules | undefined;
  /** Whether a policy file has this name; the API cannot overwrite it. */
  isFromFile(tenantId: string, name: string): boolean;
}

interface Page extends TenantRules {
  /** What it was compiled of. */
  readonly records: readonly PolicyRecord[];
}

export function createPolicyBook(
  store: Pick<Store, 'policiesOf'>,
  files: readonly PolicyDocument[],
  engine: DetectorEngine,
): PolicyBook {
  const pages = new Map<string, Page>();
  const filesOf = (tenantId: string): PolicyDocument[] =>
    files.filter((file) => file.tenants?.includes(tenantId) ?? true);

  function pageOf(tenantId: string, records: readonly PolicyRecord[]): Page {
    const known = pages.get(tenantId);
    if (known?.records === records) return known;
    const rules = compilePolicies([
      ...filesOf(tenantId).map((file) => fromFile(tenantId, file)),
      ...records.map(fromRecord),
    ]);
    // Its own tables cost some hundred kilobytes: only for those whose rules look into bodies.
    const page = { records, rules, engine: rules.words.length > 0 ? engine.withWords(rules.words) : engine };
    pages.set(tenantId, page);
    return page;
  }

  return {
    rulesFor(tenantId) {
      const records = store.policiesOf(tenantId);
      return records instanceof Promise
        ? records.then((it) => pageOf(tenantId, it))
        : pageOf(tenantId, records);
    },
    lastKnown: (tenantId) => pages.get(tenantId),
    isFromFile: (tenantId, name) => filesOf(tenantId).some((file) => file.name === name),
  };
}

/** The rules that judge a call: those of now, or while the state is away those that were known before. */
export function rulesForCall(
  policies: PolicyBook,
  { identity, isDegraded }: Call,
): MaybePromise<TenantRules> {
  if (!identity) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
  if (!isDegraded) return policies.rulesFor(identity.tenantId);
  const known = policies.lastKnown(identity.tenantId);
  if (known) return known;
  throw new GatewayError('STATE_UNAVAILABLE', 'The policies of the tenant cannot be read now.', {
    retryAfterSeconds: 1,
  });
}

const fromFile = (tenantId: string, file: PolicyDocument): CompiledInput => ({
  policyId: filePolicyId(tenantId, file.name),
  policyName: file.name,
  version: 1,
  envNames: file.envNames,
  mode: file.mode,
  rules: file.rules,
});

const fromRecord = (record: PolicyRecord): CompiledInput => ({
  policyId: record.policyId,
  policyName: record.name,
  version: record.version,
  envNames: record.envName === null ? undefined : [record.envName],
  mode: record.mode,
  rules: parseStoredRules(record.rules),
});

/** The same file gives the same id on every node. */
const filePolicyId = (tenantId: string, name: string): string =>
  derivedId(hash('sha256', `${tenantId.length}:${tenantId}${name}`));
