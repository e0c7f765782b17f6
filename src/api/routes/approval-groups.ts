import { z } from 'zod';
import { groupSimilar } from '../../decision/approvals/similar.ts';
import {
  approvalQuery,
  publicApproval,
  showApprovalFields,
  toApprovalFilter,
} from '../fields/approval-fields.ts';
import { time, toIso } from '../fields/fields.ts';
import { route } from '../route.ts';

/** Approvals that are put into groups at once. */
const groupedMax = 500;

/** `GET /v1/approvals/groups`: those of one page, with calls that differ in one argument together. */
export const groupApprovals = route({
  method: 'GET',
  path: '/v1/approvals/groups',
  tag: 'approvals',
  summary: 'List approvals, with calls that differ in one argument together',
  access: ['activity:read', 'approvals:decide'],
  query: approvalQuery.omit({ limit: true, cursor: true }),
  answer: z.object({
    groups: z.array(
      z.object({
        differs: z
          .string()
          .nullable()
          .describe('The argument: `path 3`, `query page`, `body $.amount`; null for a call by itself.'),
        values: z.array(z.string()).describe('Of that argument, in the order of the approvals.'),
        approval_ids: z.array(z.uuid()),
        first: publicApproval.describe('The newest of the group.'),
        next_expires_at: time.describe('When the first of the group expires.'),
      }),
    ),
    is_whole: z.boolean().describe('false: there are more than 500 approvals; the newest are here.'),
  }),
  isListing: true,
  async handle({ gate, query, tenantId, nowMs }) {
    const filter = toApprovalFilter(query);
    const page = { limit: groupedMax, cursor: undefined };
    const { items, nextCursor } = await gate.store.listApprovals(tenantId(), filter, nowMs, page);
    const groups = groupSimilar(items).flatMap(({ approvals, differs, values }) => {
      const [first] = approvals;
      if (!first) return [];
      return {
        differs,
        values: [...values],
        approval_ids: approvals.map((it) => it.approvalId),
        first: showApprovalFields(gate, first),
        next_expires_at: toIso(Math.min(...approvals.map((it) => it.expiresAtMs))),
      };
    });
    return { groups, is_whole: nextCursor === null };
  },
});
