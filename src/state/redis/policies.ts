import type { MaybePromise } from '../port/page.ts';
import {
  archived,
  isActive,
  nextVersion,
  versionsKept,
  versionsOn,
  withArchived,
  withVersion,
} from '../rules/policy-version.ts';
import type { AuditEvent, Page, Paged, PolicyApply, PolicyArchive, PolicyRecord } from '../store.ts';
import type { Change, Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { createFollower } from './link/revisions.ts';
import { readMany, toRecord } from './records.ts';

/** No name has a control character in it. */
const fieldOf = (name: string, envName: string | null): string => `${name}\n${envName ?? ''}`;
const versionField = (name: string, envName: string | null, version: number): string =>
  `${fieldOf(name, envName)}\n${version}`;

const byName = (a: PolicyRecord, b: PolicyRecord): number => {
  const [left, right] = [fieldOf(a.name, a.envName), fieldOf(b.name, b.envName)];
  return left < right ? -1 : 1;
};

export class RedisPolicies {
  readonly #connection: RedisConnection;
  readonly #names: Names;
  readonly #commits: Commits;
  readonly #follower;

  constructor(connection: RedisConnection, names: Names, commits: Commits) {
    this.#connection = connection;
    this.#names = names;
    this.#commits = commits;
    this.#follower = createFollower('policies', (it) => this.#readActive(it), names, connection);
  }

  async applyPolicy(apply: PolicyApply, event: AuditEvent): Promise<PolicyRecord> {
    const record = await this.#commits.write(apply.tenantId, async (change) => {
      const next = nextVersion(apply, await this.#latestFor(change, apply.tenantId));
      this.#put(change, next);
      change.audit(withVersion(event, next));
      return next;
    });
    this.#follower.forget(apply.tenantId);
    return record;
  }

  async archivePolicy(archive: PolicyArchive, event: AuditEvent): Promise<PolicyRecord | undefined> {
    const record = await this.#commits.write(archive.tenantId, async (change) => {
      const done = archived(archive, await this.#latestFor(change, archive.tenantId));
      if (!done) return undefined;
      if (done.forgotten) this.#forget(change, done.forgotten);
      this.#put(change, done.record);
      change.audit(withArchived(event, done.record));
      return done.record;
    });
    this.#follower.forget(archive.tenantId);
    return record;
  }

  policiesOf(tenantId: string): MaybePromise<readonly PolicyRecord[]> {
    return this.#follower.of(tenantId);
  }

  async policyByName(
    tenantId: string,
    name: string,
    envName: string | null,
  ): Promise<PolicyRecord | undefined> {
    const fields = [fieldOf(name, envName), fieldOf(name, null)];
    const texts = await readMany(this.#connection, this.#names.of(tenantId).policies, fields);
    return texts.map(toRecord<PolicyRecord>).find((it) => it && isActive(it));
  }

  async policyVersions(
    tenantId: string,
    name: string,
    envName: string | null,
    page: Page,
  ): Promise<Paged<PolicyRecord>> {
    const { before, most } = versionsOn(page);
    const own = this.#names.of(tenantId);
    const text = await this.#connection.call('HGET', own.policies, fieldOf(name, envName));
    const newest = Math.min(before - 1, toRecord<PolicyRecord>(text)?.version ?? 0);
    const versions = Array.from({ length: Math.min(most + 1, newest) }, (_, at) => newest - at);
    const fields = versions.map((it) => versionField(name, envName, it));
    const texts = await readMany(this.#connection, own.policyVersions, fields);
    const found = texts.flatMap((it) => toRecord<PolicyRecord>(it) ?? []);
    const items = found.slice(0, most);
    return { items, nextCursor: found.length > most ? String(items.at(-1)?.version) : null };
  }

  saw(tenantId: string, revision: string): void {
    this.#follower.saw(tenantId, revision);
  }

  /** The latest versions, archived ones too. */
  async #readAll(tenantId: string): Promise<PolicyRecord[]> {
    const texts = (await this.#connection.call('HVALS', this.#names.of(tenantId).policies)) as string[];
    return texts.flatMap((text) => toRecord<PolicyRecord>(text) ?? []).sort(byName);
  }

  async #readActive(tenantId: string): Promise<readonly PolicyRecord[]> {
    return (await this.#readAll(tenantId)).filter(isActive);
  }

  /** While the revision stands, so do the policies that are read after it. */
  async #latestFor(change: Change, tenantId: string): Promise<readonly PolicyRecord[]> {
    await change.read(change.names.revisions, 'policies');
    return this.#readAll(tenantId);
  }

  #put(change: Change, record: PolicyRecord): void {
    const { name, envName, version } = record;
    const text = JSON.stringify(record);
    change.put(change.names.policies, fieldOf(name, envName), text);
    change.put(change.names.policyVersions, versionField(name, envName, version), text);
    change.drop(change.names.policyVersions, versionField(name, envName, version - versionsKept));
    change.revise('policies');
  }

  #forget(change: Change, { name, envName, version }: PolicyRecord): void {
    change.drop(change.names.policies, fieldOf(name, envName));
    for (let it = version; it > Math.max(0, version - versionsKept); it -= 1)
      change.drop(change.names.policyVersions, versionField(name, envName, it));
  }
}
