import { z } from 'zod';
import type { AuditEntry } from '../state/store.ts';
import { time } from './fields/fields.ts';
import { shown } from './fields/shown.ts';

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
export const showAuditEntry = (it: AuditEntry): z.infer<typeof publicAuditEntry> =>
  shown(publicAuditEntry, it, {});
