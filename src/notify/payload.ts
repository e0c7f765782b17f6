import type { Message } from './notice.ts';

/** Returns the data for programs: the notice's `data` and subject, and `digest` where there are several. */
export function toData({ notice, count, digest }: Message): Record<string, unknown> {
  return {
    severity: notice.severity,
    summary: notice.summary,
    tenant_id: notice.tenantId,
    env_name: notice.envName,
    agent_id: notice.agentId,
    agent_name: notice.agentName,
    tool_name: notice.toolName,
    ...notice.data,
    ...(count > 1 ? { digest: { count, ...spanOf(digest) } } : {}),
  };
}

const spanOf = (digest: Message['digest']): Record<string, unknown> =>
  digest
    ? {
        first_at: new Date(digest.firstMs).toISOString(),
        last_at: new Date(digest.lastMs).toISOString(),
        trace_ids: digest.traceIds,
      }
    : {};
