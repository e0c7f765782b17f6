import { toGatewayError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Store } from '../../state/store.ts';
import type { ConfigStatus } from '../config-status.ts';

/** Notes a reload in each tenant's audit log. Only the end of the process waits for it. */
export function createReloadAudit(store: Pick<Store, 'appendAudit'>, log: Log) {
  let writing = Promise.resolve();

  async function write(
    tenantIds: readonly string[],
    { generation, loadedAtMs }: ConfigStatus,
  ): Promise<void> {
    const details = { generation, loaded_at: new Date(loadedAtMs).toISOString() };
    const event = { atMs: loadedAtMs, kind: 'config.reloaded', operator: 'config', details };
    for (const tenantId of tenantIds) {
      try {
        await store.appendAudit({ ...event, tenantId, subject: tenantId });
      } catch (error) {
        // The log keeps what the audit log could not take.
        log.error(
          { err: error, tenant_id: tenantId, ...details },
          'a reload could not be written to the audit log',
        );
        // While the state is away, each further tenant would take as long as this one.
        if (toGatewayError(error).code === 'STATE_UNAVAILABLE') return;
      }
    }
  }

  return {
    note(tenantIds: readonly string[], standing: ConfigStatus) {
      writing = writing.then(() => write(tenantIds, standing));
    },
    /** Resolves when all that was noted is written, or cannot be. */
    close: () => writing,
  };
}
