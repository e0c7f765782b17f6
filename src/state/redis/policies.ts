import { nextVersion, withVersion } from '../policy-version.ts';
import type { PolicyRecord, Store } from '../store.ts';
import type { Commits } from './commits.ts';
import type { Connection } from './connection.ts';
import type { Names } from './names.ts';
import { toRecord } from './records.ts';
import { createFollower } from './revisions.ts';

export interface Policies extends Pick<Store, 'applyPolicy' | 'policiesOf' | 'policyByName'> {
  saw(tenantId: string, revision: string): void;
}

/** No name has a control character in it. */
const fieldOf = (name: string, envName: string | null): string => `${name}\n${envName ?? ''}`;

const byName = (a: PolicyRecord, b: PolicyRecord): number => {
  const [left, right] = [fieldOf(a.name, a.envName), fieldOf(b.name, b.envName)];
  return left < right ? -1 : 1;
};

export function createPolicies(connection: Connection, names: Names, commits: Commits): Policies {
  const read = async (tenantId: string): Promise<readonly PolicyRecord[]> => {
    const texts = (await connection.call('HVALS', names.of(tenantId).policies)) as string[];
    return texts.flatMap((text) => toRecord<PolicyRecord>(text) ?? []).sort(byName);
  };
  const follower = createFollower('policies', read, (it) => names.of(it).revisions, connection);

  return {
    async applyPolicy(apply, event) {
      const record = await commits.write(apply.tenantId, async (change) => {
        // While the revision stands, so do the policies that are read after it.
        await change.read(change.names.revisions, 'policies');
        const next = nextVersion(apply, await read(apply.tenantId));
        const field = fieldOf(apply.name, apply.envName);
        change.put(change.names.policies, field, JSON.stringify(next));
        change.revise('policies');
        change.audit(withVersion(event, next));
        return next;
      });
      follower.forget(apply.tenantId);
      return record;
    },
    policiesOf: follower.of,
    async policyByName(tenantId, name, envName) {
      const fields = [fieldOf(name, envName), fieldOf(name, null)];
      const found = (await connection.call('HMGET', names.of(tenantId).policies, ...fields)) as unknown[];
      return toRecord<PolicyRecord>(found[0]) ?? toRecord<PolicyRecord>(found[1]);
    },
    saw: follower.saw,
  };
}
