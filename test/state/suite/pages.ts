import { newId } from '../../../src/core/ids.ts';
import type { Page, Paged } from '../../../src/state/store.ts';
import { approvalRecord, incidentRecord, noonMs } from '../records.ts';
import { firstPage, isFalling, rubbishCursors, type SuitePart, type Tenant, walk } from './lab.ts';

interface Listing {
  readonly name: string;
  /** Adds something to the list that is as old as `atMs` says; answers its id. */
  add(tenant: Tenant, atMs: number): Promise<string>;
  list(tenantId: string, page: Page): Promise<Paged<{ id: string; atMs: number }>>;
}

/** Every list of records is walked the same way. */
export const pages: SuitePart = async (t, { store, ...lab }) => {
  const listings: Listing[] = [
    {
      name: 'keys',
      add: async (tenant, createdAtMs) => (await tenant.key({ createdAtMs })).keyId,
      list: async (tenantId, page) =>
        shown(await store.listKeys(tenantId, page), (it) => ({ id: it.keyId, atMs: it.createdAtMs })),
    },
    {
      name: 'agents',
      add: async (tenant, createdAtMs) => (await tenant.agentOf({ createdAtMs })).agentId,
      list: async (tenantId, page) =>
        shown(await store.listAgents(tenantId, page), (it) => ({ id: it.agentId, atMs: it.createdAtMs })),
    },
    {
      name: 'approvals',
      add: async (tenant, createdAtMs) => {
        const fields = { createdAtMs, expiresAtMs: createdAtMs + 900_000_000 };
        const { approval } = await store.holdCall(approvalRecord({ tenantId: tenant.tenantId, ...fields }));
        return approval.approvalId;
      },
      list: async (tenantId, page) => {
        const paged = await store.listApprovals(tenantId, {}, noonMs, page);
        return shown(paged, (it) => ({ id: it.approvalId, atMs: it.createdAtMs }));
      },
    },
    {
      name: 'pending approvals',
      add: async (tenant, createdAtMs) => listings[2]?.add(tenant, createdAtMs) ?? '',
      list: async (tenantId, page) => {
        const paged = await store.listApprovals(tenantId, { status: 'pending' }, noonMs, page);
        return shown(paged, (it) => ({ id: it.approvalId, atMs: it.createdAtMs }));
      },
    },
    {
      name: 'incidents',
      add: async (tenant, openedAtMs) => {
        const record = incidentRecord({ tenantId: tenant.tenantId, openedAtMs });
        const { incident } = await store.openIncident(record, tenant.event());
        return incident.incidentId;
      },
      list: async (tenantId, page) =>
        shown(await store.listIncidents(tenantId, {}, page), (it) => ({
          id: it.incidentId,
          atMs: it.openedAtMs,
        })),
    },
    {
      name: 'audit entries',
      add: async (tenant, atMs) => {
        const subject = newId();
        await store.appendAudit(tenant.event({ subject, atMs }));
        return subject;
      },
      list: async (tenantId, page) =>
        shown(await store.listAudit(tenantId, { kind: 'key.created' }, page), (it) => ({
          id: it.subject,
          atMs: it.seq,
        })),
    },
  ];

  for (const { name, add, list } of listings) {
    await t.test(`${name} are listed newest first, each once`, async (t) => {
      const acme = await lab.tenant();
      const other = await lab.tenant();
      await add(other, noonMs);
      const before = (await list(acme.tenantId, firstPage)).items.map((it) => it.id);
      const ids: string[] = [];
      // Of several there are three of the same millisecond, and the order of adding is not that of time.
      for (let at = 0; at < 33; at += 1) ids.push(await add(acme, noonMs + Math.floor(((at * 7) % 33) / 3)));
      const want = [...before, ...ids].sort();
      for (const limit of [1, 7, want.length, 1_000]) {
        const all = await walk(t, limit, (page) => list(acme.tenantId, page));
        t.same(all.map((it) => it.id).sort(), want, `${limit} a page`);
        t.ok(isFalling(all.map((it) => it.atMs)), 'none stands behind an older one');
      }
      const { items, nextCursor } = await list(acme.tenantId, { limit: 10, cursor: undefined });
      t.equal(items.length, 10);
      const late = await add(acme, noonMs + 1_000);
      const rest = await walk(t, 9, (page) =>
        list(acme.tenantId, { ...page, cursor: page.cursor ?? nextCursor ?? '' }),
      );
      t.same(
        [...items, ...rest].map((it) => it.id).sort(),
        want,
        'what comes meanwhile does not shift the pages',
      );
      t.equal((await list(acme.tenantId, firstPage)).items[0]?.id, late, 'and stands in front');
    });

    await t.test(`${name}: a cursor that is none is refused`, async (t) => {
      const acme = await lab.tenant();
      const other = await lab.tenant();
      const own = [await add(acme, noonMs), await add(acme, noonMs + 1), await add(acme, noonMs + 2)];
      await add(other, noonMs);
      for (const cursor of rubbishCursors)
        await t.rejects(
          list(acme.tenantId, { limit: 10, cursor }),
          { code: 'VALIDATION_FAILED', extra: { errors: [{ path: 'cursor' }] } },
          JSON.stringify(cursor.slice(0, 20)),
        );
      const { nextCursor } = await list(acme.tenantId, { limit: 1, cursor: undefined });
      t.type(nextCursor, 'string');
      const foreign = list(other.tenantId, { limit: 10, cursor: nextCursor ?? '' });
      const seen = await foreign.then(
        ({ items }) => items.map((it) => it.id),
        () => [],
      );
      t.notOk(
        seen.some((id) => own.includes(id)),
        'the cursor of another tenant shows nothing of it',
      );
    });
  }
};

const shown = <T, U>({ items, nextCursor }: Paged<T>, show: (item: T) => U): Paged<U> => ({
  items: items.map(show),
  nextCursor,
});
