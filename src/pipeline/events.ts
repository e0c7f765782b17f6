import type { Log } from '../log.ts';
import type { AuditEvent, Store } from '../state/store.ts';

/**
 * Told of what happens beside a call, once each, without anybody waiting for it. What is told becomes an audit entry; channels that
 * notify people will listen here too.
 */
export interface Events {
  tell(event: AuditEvent): void;
}

export function createEvents(store: Store, log: Log): Events {
  return {
    tell(event) {
      store.appendAudit(event).catch((error: unknown) => {
        // The log keeps what the audit log could not take.
        log.error({ err: error, event }, 'an event could not be written to the audit log');
      });
    },
  };
}
