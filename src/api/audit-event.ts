import type { AuditEvent } from '../state/store.ts';
import type { ApiRequest, Caller } from './route.ts';

/** Returns how the audit log names the caller: by the prefix of its key, or `admin`. */
export const operatorOf = (caller: Caller): string =>
  caller.kind === 'key' ? caller.identity.keyPrefix : caller.kind;

/** The caller who does something, and the time. */
export type Doing = Pick<ApiRequest<unknown, unknown>, 'caller' | 'nowMs'>;

/** Returns the audit event of an action. */
export const auditEvent = (
  { caller, nowMs }: Doing,
  what: Omit<AuditEvent, 'atMs' | 'operator'>,
): AuditEvent => ({ atMs: nowMs, operator: operatorOf(caller), ...what });
