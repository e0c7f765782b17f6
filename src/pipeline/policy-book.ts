import { hash } from 'node:crypto';
import type { DetectorEngine } from '../detectors/engine.ts';
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
  rulesFor(tenantId: string): MaybePromise<TenantRules>;
  /** The tenant's policies in the state have changed: the next call reads them again. */
  forget(tenantId: string): void;
  /** Whether a policy file has this name; the API cannot overwrite it. */
  isFromFile(tenantId: string, name: string): boolean;
}

export function createPolicyBook(
  store: Store,
  files: readonly PolicyDocument[],
  engine: DetectorEngine,
): PolicyBook {
  const pages = new Map<string, TenantRules>();
  const filesOf = (tenantId: string): PolicyDocument[] =>
    files.filter((file) => file.tenants?.includes(tenantId) ?? true);

  function compile(tenantId: string, records: readonly PolicyRecord[]): TenantRules {
    const rules = compilePolicies([
      ...filesOf(tenantId).map((file) => fromFile(tenantId, file)),
      ...records.map(fromRecord),
    ]);
    // Its own tables cost some hundred kilobytes: only for those whose rules look into bodies.
    const page = { rules, engine: rules.words.length > 0 ? engine.withWords(rules.words) : engine };
    pages.set(tenantId, page);
    return page;
  }

  return {
    rulesFor(tenantId) {
      const known = pages.get(tenantId);
      if (known) return known;
      const records = store.policiesOf(tenantId);
      return records instanceof Promise
        ? records.then((it) => compile(tenantId, it))
        : compile(tenantId, records);
    },
    forget: (tenantId) => void pages.delete(tenantId),
    isFromFile: (tenantId, name) => filesOf(tenantId).some((file) => file.name === name),
  };
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

/** A UUID of version 8 (RFC 9562, 5.8) from tenant and name: the same file gives the same id on every node. */
function filePolicyId(tenantId: string, name: string): string {
  const digest = hash('sha256', `${tenantId.length}:${tenantId}${name}`);
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-a${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}
