import { z } from 'zod';
import { publicAuditEntry, showAuditEntry } from '../audit-entry.ts';
import { pageOf, pageQuery, present, toListAnswer, toPage } from '../fields/fields.ts';
import { routesOf } from '../route.ts';

const route = routesOf('audit');

/** `GET /v1/audit` lists who did what, newest first. Each entry has the hash of the one before. */
export const listAudit = route('GET /v1/audit', {
  summary: 'List the audit log',
  access: 'activity:read',
  query: z.object({
    ...pageQuery,
    kind: z.string().min(1).max(64).optional(),
    subject: z.string().min(1).max(256).optional(),
  }),
  answer: pageOf(publicAuditEntry),
  isListing: true,
  async handle({ gate, query, tenantId }) {
    const filter = present({ kind: query.kind, subject: query.subject });
    return toListAnswer(await gate.store.listAudit(tenantId(), filter, toPage(query)), showAuditEntry);
  },
});
