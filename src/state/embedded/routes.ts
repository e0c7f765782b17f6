import { kept } from '../../util/kept.ts';
import { createCache } from '../cache.ts';
import { prefixTaken, routesMax, tooManyRoutes } from '../rules/routes.ts';
import type { AuditEvent, RouteStore, StoredRoute } from '../store.ts';
import { type Disk, writeAudited } from './disk.ts';
import { createRecordTable } from './record-table.ts';

const tenantsMax = 1_024;

export function createEmbeddedRoutes(disk: Disk): RouteStore {
  const { db } = disk;
  const table = createRecordTable<StoredRoute>(db, 'inbound_routes', ['tenant_id', 'prefix']);
  const owner = db.prepare('SELECT tenant_id FROM inbound_routes WHERE prefix = ?');
  const held = createCache<ReadonlyMap<string, StoredRoute>>(tenantsMax);

  const ownerOf = (prefix: string): string | undefined => {
    const row = owner.get(prefix);
    return row && String(row['tenant_id']);
  };
  const change = (tenantId: string, event: AuditEvent, work: () => boolean): Promise<boolean> =>
    writeAudited(disk, event, work, () => held.delete(tenantId));
  const alter = (
    { tenantId, prefix }: Pick<StoredRoute, 'tenantId' | 'prefix'>,
    event: AuditEvent,
    toChanged: (route: StoredRoute) => StoredRoute | undefined,
  ): Promise<boolean> =>
    change(tenantId, event, () => table.alter(toChanged, tenantId, prefix) !== undefined);

  return {
    async addRoute(route, event) {
      const { tenantId, prefix } = route;
      await change(tenantId, event, () => {
        if (ownerOf(prefix) !== undefined) throw prefixTaken();
        if (table.list(tenantId).length >= routesMax) throw tooManyRoutes();
        table.put(route, tenantId, prefix);
        return true;
      });
    },
    replaceRoute: (route, event) => alter(route, event, () => route),
    resealRoute: ({ from, to, ...place }, event) =>
      alter(place, event, (route) =>
        route.sealedToken === from ? { ...route, sealedToken: to } : undefined,
      ),
    removeRoute: (tenantId, prefix, event) => change(tenantId, event, () => table.remove(tenantId, prefix)),
    routeOwner: ownerOf,
    routesOf: (tenantId) =>
      kept(held, tenantId, () => {
        return new Map(table.list(tenantId).map((it) => [it.prefix, it]));
      }),
  };
}
