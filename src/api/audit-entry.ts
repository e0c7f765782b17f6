import { z } from 'zod';
import type { AuditEntry } from '../state/store.ts';
import { time, toIso } from './fields/fields.ts';

export const publicAuditEntry = z
  .object({
    tenant_id: z.string(),
    seq: z.int(),
    at: time,
    kind: z.string(),
    operator: z.string(),
    subject: z.string(),
    details: z.record(z.string(), z.unknown()),
    previous: z.string(),
    hash: z.string(),
  })
  .meta({ id: 'AuditEntry' });

/** Returns an entry of the audit log as answers show it. */
export const showAuditEntry = (it: AuditEntry): z.infer<typeof publicAuditEntry> => ({
  tenant_id: it.tenantId,
  seq: it.seq,
  at: toIso(it.atMs),
  kind: it.kind,
  operator: it.operator,
  subject: it.subject,
  details: it.details,
  previous: it.previous,
  hash: it.hash,
});
