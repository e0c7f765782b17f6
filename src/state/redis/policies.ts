import {
  archived,
  isActive,
  nextVersion,
  versionsKept,
  versionsOn,
  withArchived,
  withVersion,
} from '../rules/policy-version.ts';
import type { PolicyRecord, Store } from '../store.ts';
import type { Change, Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { createFollower } from './link/revisions.ts';
import { readMany, toRecord } from './records.ts';

interface Policies
  extends Pick<Store, 'applyPolicy' | 'archivePolicy' | 'policiesOf' | 'policyByName' | 'policyVersions'> {
  saw(tenantId: string, revision: string): void;
}

/** No name has a control character in it. */
const fieldOf = (name: string, envName: string | null): string => `${name}\n${envName ?? ''}`;
const versionField = (name: string, envName: string | null, version: number): string =>
  `${fieldOf(name, envName)}\n${version}`;

const byName = (a: PolicyRecord, b: PolicyRecord): number => {
  const [left, right] = [fieldOf(a.name, a.envName), fieldOf(b.name, b.envName)];
  return left < right ? -1 : 1;
};

export function createRedisPolicies(connection: RedisConnection, names: Names, commits: Commits): Policies {
  /** The latest versions, archived ones too. */
  const readAll = async (tenantId: string): Promise<PolicyRecord[]> => {
    const texts = (await connection.call('HVALS', names.of(tenantId).policies)) as string[];
    return texts.flatMap((text) => toRecord<PolicyRecord>(text) ?? []).sort(byName);
  };
  const readActive = async (tenantId: string): Promise<readonly PolicyRecord[]> =>
    (await readAll(tenantId)).filter(isActive);
  const follower = createFollower('policies', readActive, (it) => names.of(it).revisions, connection);

  /** While the revision stands, so do the policies that are read after it. */
  async function latestFor(change: Change, tenantId: string): Promise<readonly PolicyRecord[]> {
    await change.read(change.names.revisions, 'policies');
    return readAll(tenantId);
  }

  function put(change: Change, record: PolicyRecord): void {
    const { name, envName, version } = record;
    const text = JSON.stringify(record);
    change.put(change.names.policies, fieldOf(name, envName), text);
    change.put(change.names.policyVersions, versionField(name, envName, version), text);
    change.drop(change.names.policyVersions, versionField(name, envName, version - versionsKept));
    change.revise('policies');
  }

  function forget(change: Change, { name, envName, version }: PolicyRecord): void {
    change.drop(change.names.policies, fieldOf(name, envName));
    for (let it = version; it > Math.max(0, version - versionsKept); it -= 1)
      change.drop(change.names.policyVersions, versionField(name, envName, it));
  }

  return {
    async applyPolicy(apply, event) {
      const record = await commits.write(apply.tenantId, async (change) => {
        const next = nextVersion(apply, await latestFor(change, apply.tenantId));
        put(change, next);
        change.audit(withVersion(event, next));
        return next;
      });
      follower.forget(apply.tenantId);
      return record;
    },

    async archivePolicy(archive, event) {
      const record = await commits.write(archive.tenantId, async (change) => {
        const done = archived(archive, await latestFor(change, archive.tenantId));
        if (!done) return undefined;
        if (done.forgotten) forget(change, done.forgotten);
        put(change, done.record);
        change.audit(withArchived(event, done.record));
        return done.record;
      });
      follower.forget(archive.tenantId);
      return record;
    },

    policiesOf: follower.of,

    async policyByName(tenantId, name, envName) {
      const fields = [fieldOf(name, envName), fieldOf(name, null)];
      const texts = await readMany(connection, names.of(tenantId).policies, fields);
      return texts.map(toRecord<PolicyRecord>).find((it) => it && isActive(it));
    },

    async policyVersions(tenantId, name, envName, page) {
      const { before, most } = versionsOn(page);
      const own = names.of(tenantId);
      const text = await connection.call('HGET', own.policies, fieldOf(name, envName));
      const newest = Math.min(before - 1, toRecord<PolicyRecord>(text)?.version ?? 0);
      const versions = Array.from({ length: Math.min(most + 1, newest) }, (_, at) => newest - at);
      const fields = versions.map((it) => versionField(name, envName, it));
      const texts = await readMany(connection, own.policyVersions, fields);
      const found = texts.flatMap((it) => toRecord<PolicyRecord>(it) ?? []);
      const items = found.slice(0, most);
      return { items, nextCursor: found.length > most ? String(items.at(-1)?.version) : null };
    },

    saw: follower.saw,
  };
}
