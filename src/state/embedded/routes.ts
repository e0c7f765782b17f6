import { kept } from '../../util/kept.ts';
import { createCache } from '../cache.ts';
import { prefixTaken, routesMax, tooManyRoutes } from '../rules/routes.ts';
import type { AuditEvent, RouteStore, StoredRoute } from '../store.ts';
import { type Disk, writeAudited } from './disk.ts';
import { recordOf, rowToRecord } from './sqlite.ts';

const tenantsMax = 1_024;

export function createEmbeddedRoutes(disk: Disk): RouteStore {
  const { db } = disk;
  const insert = db.prepare('INSERT INTO inbound_routes (prefix, tenant_id, record) VALUES (?, ?, ?)');
  const update = db.prepare('UPDATE inbound_routes SET record = ? WHERE prefix = ? AND tenant_id = ?');
  const remove = db.prepare('DELETE FROM inbound_routes WHERE prefix = ? AND tenant_id = ?');
  const owner = db.prepare('SELECT tenant_id FROM inbound_routes WHERE prefix = ?');
  const byPrefix = db.prepare('SELECT record FROM inbound_routes WHERE prefix = ? AND tenant_id = ?');
  const byTenant = db.prepare('SELECT record FROM inbound_routes WHERE tenant_id = ? ORDER BY prefix');
  const held = createCache<ReadonlyMap<string, StoredRoute>>(tenantsMax);

  const ownerOf = (prefix: string): string | undefined => {
    const row = owner.get(prefix);
    return row && String(row['tenant_id']);
  };
  const change = (tenantId: string, event: AuditEvent, work: () => boolean): Promise<boolean> =>
    writeAudited(disk, event, work, () => held.delete(tenantId));

  return {
    async addRoute(route, event) {
      const { tenantId, prefix } = route;
      await change(tenantId, event, () => {
        if (ownerOf(prefix) !== undefined) throw prefixTaken();
        if (byTenant.all(tenantId).length >= routesMax) throw tooManyRoutes();
        insert.run(prefix, tenantId, JSON.stringify(route));
        return true;
      });
    },
    replaceRoute: (route, event) =>
      change(
        route.tenantId,
        event,
        () => update.run(JSON.stringify(route), route.prefix, route.tenantId) > 0,
      ),
    resealRoute: ({ tenantId, prefix, from, to }, event) =>
      change(tenantId, event, () => {
        const standing = rowToRecord<StoredRoute>(byPrefix.get(prefix, tenantId));
        if (standing?.sealedToken !== from) return false;
        return update.run(JSON.stringify({ ...standing, sealedToken: to }), prefix, tenantId) > 0;
      }),
    removeRoute: (tenantId, prefix, event) => change(tenantId, event, () => remove.run(prefix, tenantId) > 0),
    routeOwner: ownerOf,
    routesOf: (tenantId) =>
      kept(held, tenantId, () => {
        const routes = byTenant.all(tenantId).map(recordOf<StoredRoute>);
        return new Map(routes.map((it) => [it.prefix, it]));
      }),
  };
}
