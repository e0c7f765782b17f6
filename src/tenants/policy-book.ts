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
import { mapInSlices, Pace } from '../util/pace.ts';

/** The compiled policies of a tenant, and the engine that finds their words in the same pass as all else. */
export interface TenantRules {
  readonly rules: PolicySet;
  readonly engine: DetectorEngine;
}

/** Compiles each tenant's policies when first asked for, and anew when they have changed. */
export interface PolicyBook {
  /**
   * Returns the tenant's rules as the last admitted call has found them, on whatever node they were applied.
   * While the state is away it returns the last known rules. It rejects where newer ones were heard of that
   * cannot be read.
   */
  rulesFor(tenantId: string): MaybePromise<TenantRules>;
  /**
   * Returns the rules that were compiled last, for what need not be judged by the newest. Undefined where
   * there are none.
   */
  lastKnown(tenantId: string): TenantRules | undefined;
  /** Returns the policies that judge the tenant's calls: those of files, then those that were applied. */
  inputsOf(tenantId: string): MaybePromise<readonly CompiledInput[]>;
  /** Returns the policies of files, with their ids. The API cannot overwrite them. */
  filesOf(tenantId: string): readonly FilePolicy[];
  /**
   * Compiles the rules of those tenants of which `before` has some, so that no call waits for it after a
   * reload. Where none of a tenant's policies has changed, it adopts the compiled rules.
   */
  adoptFrom(before: PolicyBook, tenantIds: readonly string[]): Promise<void>;
  /** The rules that were compiled so far, by tenant. */
  readonly pages: ReadonlyMap<string, Page>;
  /** Tells whether a policy file has this name. */
  isFromFile(tenantId: string, name: string): boolean;
}

export interface FilePolicy {
  readonly policyId: string;
  readonly document: PolicyDocument;
}

interface Page extends TenantRules {
  /** The applied policies that the rules were compiled from. */
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

  function* inputsFrom(tenantId: string, records: readonly PolicyRecord[]): Generator<CompiledInput> {
    for (const document of documentsOf(tenantId))
      yield fromDocument(document, { policyId: filePolicyId(tenantId, document), version: 1 });
    for (const record of records) yield fromRecord(record);
  }
  const toInputs = (tenantId: string, records: readonly PolicyRecord[]): CompiledInput[] => [
    ...inputsFrom(tenantId, records),
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
      const pace = new Pace();
      for (const tenantId of tenantIds) {
        const known = before.pages.get(tenantId);
        if (!known) continue;
        if (pace.isDue()) await pace.turn();
        const { records, documents } = known;
        const rules = isSameList(documents, documentsOf(tenantId))
          ? known.rules
          : await compileInSlices(await mapInSlices(inputsFrom(tenantId, records), (it) => it));
        keep(tenantId, { records, rules });
      }
    },
  };
}

const isSameList = <T>(a: readonly T[], b: readonly T[]): boolean =>
  a.length === b.length && a.every((it, index) => it === b[index]);

/** The part of the book that reading and judging a call need. */
export type Rules = Pick<PolicyBook, 'rulesFor' | 'lastKnown'>;

/** Returns the policy of a document, which the store does not have, in the form that is compiled. */
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

/**
 * Returns the id of a policy of a file, the same on every node. Its name and its environments together are
 * unique among files.
 */
const filePolicyId = (tenantId: string, { name, envNames = [] }: PolicyDocument): string =>
  derivedId(hash('sha256', JSON.stringify([tenantId, name, ...envNames.toSorted()])));
