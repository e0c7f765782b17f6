import { timeOfTraceId } from '../core/ids.ts';
import type { Journal } from '../state/journal.ts';
import type { Store } from '../state/store.ts';

/**
 * Milliseconds after a call in which its line may not be in the state. Lines are shipped within a quarter of
 * a second, unless the state is away.
 */
const freshMs = 5000;

/**
 * Returns the store, in which a trace can be found as soon as its call is answered. When somebody asks for a
 * call of the last seconds, the unshipped part of this process's journal is shipped first.
 */
export function withFreshTraces(store: Store, journal: Pick<Journal, 'flush'>): Store {
  const shipped = async (traceId: string): Promise<void> => {
    if (Math.abs(Date.now() - (timeOfTraceId(traceId) ?? 0)) < freshMs) await journal.flush();
  };
  return {
    ...store,
    async traceById(tenantId, traceId) {
      await shipped(traceId);
      return store.traceById(tenantId, traceId);
    },
    /**
     * Resets the trust of an agent. The journal is shipped first, so that nothing older counts against the
     * agent afterwards.
     */
    async resetTrust(tenantId, agentId, audit) {
      await journal.flush();
      return store.resetTrust(tenantId, agentId, audit);
    },
    async addResponseScan(tenantId, traceId, scan) {
      await shipped(traceId);
      return store.addResponseScan(tenantId, traceId, scan);
    },
  };
}
