import { cutPage } from '../rules/cursor.ts';
import {
  archived,
  isActive,
  nextVersion,
  versionBytesMax,
  versionsKept,
  versionsOn,
  withArchived,
  withVersion,
} from '../rules/policy-version.ts';
import type { PolicyRecord, PolicyStore } from '../store.ts';
import type { Change } from './link/commits.ts';
import type { Link } from './link/link.ts';
import { readAll, readMany, readRecord, toRecord } from './records.ts';

/**
 * Returns the field of a policy. A newline separates its parts, since no name has a control character in it.
 */
const fieldOf = (name: string, envName: string | null): string => `${name}\n${envName ?? ''}`;
const versionField = (name: string, envName: string | null, version: number): string =>
  `${fieldOf(name, envName)}\n${version}`;

const byName = (a: PolicyRecord, b: PolicyRecord): number =>
  fieldOf(a.name, a.envName) < fieldOf(b.name, b.envName) ? -1 : 1;

export function createRedisPolicies({ connection, names, commits, revisions }: Link): PolicyStore {
  /** Returns the latest versions, archived ones too. */
  const latest = async (tenantId: string): Promise<readonly PolicyRecord[]> =>
    (await readAll<PolicyRecord>(connection, names.of(tenantId).policies)).sort(byName);

  /**
   * Returns the latest versions for a change. While the revision stands, so do the policies that are read
   * after it.
   */
  async function latestFor(change: Change, tenantId: string): Promise<readonly PolicyRecord[]> {
    await change.read(change.names.revisions, 'policies');
    return latest(tenantId);
  }

  return {
    applyPolicy: (apply, event) =>
      commits.write(apply.tenantId, async (change) => {
        const next = nextVersion(apply, await latestFor(change, apply.tenantId));
        put(change, next);
        change.audit(withVersion(event, next));
        return next;
      }),

    archivePolicy: (archive, event) =>
      commits.write(archive.tenantId, async (change) => {
        const done = archived(archive, await latestFor(change, archive.tenantId));
        if (!done) return undefined;
        for (const it of done.forgotten) forget(change, it);
        put(change, done.record);
        change.audit(withArchived(event, done.record));
        return done.record;
      }),

    policiesOf: revisions.follow('policies', async (it) => (await latest(it)).filter(isActive)),

    async policyByName(tenantId, name, envName) {
      const fields = [fieldOf(name, envName), fieldOf(name, null)];
      const texts = await readMany(connection, names.of(tenantId).policies, fields);
      return texts.map(toRecord<PolicyRecord>).find((it) => it && isActive(it));
    },

    async policyVersions(tenantId, name, envName, page) {
      const { before, most } = versionsOn(page);
      const { policies, policyVersions } = names.of(tenantId);
      const last = await readRecord<PolicyRecord>(connection, policies, fieldOf(name, envName));
      const newest = Math.min(before - 1, last?.version ?? 0);
      const versions = Array.from({ length: Math.min(most + 1, newest) }, (_, at) => newest - at);
      const fields = versions.map((it) => versionField(name, envName, it));
      const texts = await readMany(connection, policyVersions, fields);
      const found = texts.flatMap((it) => toRecord<PolicyRecord>(it) ?? []);
      // The latest one stands, however old it is.
      if (last && last.version === newest && found[0]?.version !== newest) found.unshift(last);
      return cutPage(found, most, (last) => String(last.version));
    },
  };
}

function put(change: Change, record: PolicyRecord): void {
  const { name, envName, version } = record;
  const { policies, policyVersions, policyVersionSizes } = change.names;
  const field = versionField(name, envName, version);
  change.putRecord(policies, fieldOf(name, envName), record);
  change.putRecord(policyVersions, field, record);
  const bytes = Buffer.byteLength(JSON.stringify(record));
  change.amass(policyVersionSizes, field, { bytes, bytesMax: versionBytesMax, records: policyVersions });
  change.drop(policyVersions, versionField(name, envName, version - versionsKept));
  change.revise('policies');
}

function forget(change: Change, { name, envName, version }: PolicyRecord): void {
  change.drop(change.names.policies, fieldOf(name, envName));
  for (let it = version; it > Math.max(0, version - versionsKept); it -= 1)
    change.drop(change.names.policyVersions, versionField(name, envName, it));
}
