import { hash } from 'node:crypto';
import { derivedId } from '../core/ids.ts';
import type { DetectorEngine } from '../inspect/match/engine.ts';
import {
  type CompiledInput,
  compileInSlices,
  compilePolicies,
  type PolicySet,
  parseStoredRules,
} from '../policy/index.ts';
import type { PolicyDocument } from '../policy/schema.ts';
import type { MaybePromise, PolicyRecord, Store } from '../state/store.ts';
import { after } from '../util/maybe-promise.ts';

/** Holds a tenant's policies, and the engine that finds their words in the pass that finds the rest. */
export interface TenantRules {
  readonly rules: PolicySet;
  readonly engine: DetectorEngine;
}

/** Compiles each tenant's policies when first asked for, and anew when they have changed. */
export interface PolicyBook {
  /**
   * The tenant's rules as the last admitted call has found them, on whatever node they were applied. While the state is
   * away they are the last known ones, and where newer ones were heard of that cannot be read, there are none.
   */
  rulesFor(tenantId: string): MaybePromise<TenantRules>;
  /** The rules that were made last, for what need not be judged by the newest; undefined where there were none. */
  lastKnown(tenantId: string): TenantRules | undefined;
  /** Returns the policies that judge the tenant's calls: those of files, then those that were applied. */
  inputsOf(tenantId: string): MaybePromise<readonly CompiledInput[]>;
  /** Policies of files, with their ids; the API cannot overwrite them. */
  filesOf(tenantId: string): readonly FilePolicy[];
  /**
   * Makes the rules of those tenants of which `before` has some, so that no call waits for it after a reload.
   * Compiled rules of a tenant none of whose policies has changed are adopted.
   */
  adoptFrom(before: PolicyBook, tenantIds: readonly string[]): Promise<void>;
  /** The rules that were made so far, by tenant. */
  readonly pages: ReadonlyMap<string, Page>;
  /** Tells whether a policy file has this name. */
  isFromFile(tenantId: string, name: string): boolean;
}

export interface FilePolicy {
  readonly policyId: string;
  readonly document: PolicyDocument;
}

interface Page extends TenantRules {
  /** The records that it was compiled of. */
  readonly records: readonly PolicyRecord[];
  readonly documents: readonly PolicyDocument[];
}

export function createPolicyBook(
  store: Pick<Store, 'policiesOf'>,
  files: readonly PolicyDocument[],
  engineOf: (tenantId: string) => DetectorEngine,
): PolicyBook {
  const pages = new Map<string, Page>();
  const documentsOf = (tenantId: string): PolicyDocument[] =>
    files.filter((file) => file.tenants?.includes(tenantId) ?? true);
  const filesOf = (tenantId: string): FilePolicy[] =>
    documentsOf(tenantId).map((document) => ({ policyId: filePolicyId(tenantId, document), document }));

  const toInputs = (tenantId: string, records: readonly PolicyRecord[]): CompiledInput[] => [
    ...filesOf(tenantId).map(({ policyId, document }) => fromDocument(document, { policyId, version: 1 })),
    ...records.map(fromRecord),
  ];

  function pageOf(tenantId: string, records: readonly PolicyRecord[]): Page {
    const known = pages.get(tenantId);
    if (known?.records === records) return known;
    return keep(tenantId, { records, rules: compilePolicies(toInputs(tenantId, records)) });
  }

  function keep(tenantId: string, made: Pick<Page, 'records' | 'rules'>): Page {
    const page = { ...made, documents: documentsOf(tenantId), engine: engineOf(tenantId) };
    pages.set(tenantId, page);
    return page;
  }

  return {
    rulesFor(tenantId) {
      return after(store.policiesOf(tenantId), (it) => pageOf(tenantId, it));
    },
    lastKnown: (tenantId) => pages.get(tenantId),
    inputsOf(tenantId) {
      return after(store.policiesOf(tenantId), (it) => toInputs(tenantId, it));
    },
    filesOf,
    isFromFile: (tenantId, name) => documentsOf(tenantId).some((document) => document.name === name),
    pages,
    async adoptFrom(before, tenantIds) {
      for (const tenantId of tenantIds) {
        const known = before.pages.get(tenantId);
        if (!known) continue;
        const { records, documents } = known;
        const rules = isSameList(documents, documentsOf(tenantId))
          ? known.rules
          : await compileInSlices(toInputs(tenantId, records));
        keep(tenantId, { records, rules });
      }
    },
  };
}

const isSameList = <T>(a: readonly T[], b: readonly T[]): boolean =>
  a.length === b.length && a.every((it, index) => it === b[index]);

/** The part that reading and judging a call need. */
export type Rules = Pick<PolicyBook, 'rulesFor' | 'lastKnown'>;

/** Returns a policy that the store does not have, as it takes part in decisions. */
export const fromDocument = (
  { name, envNames, mode, rules }: PolicyDocument,
  { policyId, version }: Pick<CompiledInput, 'policyId' | 'version'>,
): CompiledInput => ({ policyId, policyName: name, version, envNames, mode, rules });

const fromRecord = (record: PolicyRecord): CompiledInput => ({
  policyId: record.policyId,
  policyName: record.name,
  version: record.version,
  envNames: record.envName === null ? undefined : [record.envName],
  mode: record.mode,
  rules: parseStoredRules(record.rules),
});

/** Makes the same id on every node for one document: in a file, a name and environments are unique. */
const filePolicyId = (tenantId: string, { name, envNames = [] }: PolicyDocument): string =>
  derivedId(hash('sha256', JSON.stringify([tenantId, name, ...envNames.toSorted()])));
