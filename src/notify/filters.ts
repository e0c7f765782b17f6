import type { NotificationConfig } from '../config/schema.ts';
import { type Band, bands } from '../core/call.ts';
import { compileGlob } from '../util/glob.ts';
import type { Notice } from './notice.ts';

/* Decides which channels are told of what. */

export type Filter = ReturnType<typeof createFilter>;

const rankOf = (band: Band): number => bands.indexOf(band);

export function createFilter(channel: NotificationConfig) {
  const { type, events, tenantId, tools, environments } = channel;
  const agents = channel.agents.map((it) => compileGlob(it));
  /** Tells whether notices of the tenant may go to the channel; null stands for the daemon's own notices. */
  const isFor = (ofTenant: string | null): boolean => tenantId === null || tenantId === ofTenant;
  /** Tells whether the channel may want notices of the kind, escalated ones aside. */
  const mayWant = (kind: string): boolean =>
    events.length === 0 ||
    events.some((it) => it === '*' || it === kind || (it.endsWith('.*') && kind.startsWith(it.slice(0, -1))));
  /** Tells whether a notice is of the channel's agents. Calling itself otherwise takes no agent out of it. */
  const isOfAgents = ({ agentId, agentName, registeredName }: Notice): boolean =>
    agents.length === 0 ||
    agents.some((matches) =>
      [agentId, agentName, registeredName].some((it) => typeof it === 'string' && matches(it)),
    );
  const isAmong = (list: readonly string[], name: string | null): boolean =>
    list.length === 0 || (name !== null && list.includes(name));

  return {
    isFor,
    mayWant,
    /** Tells whether the channel gets a notice. An escalated notice passes all filters but the tenant's. */
    wants: (notice: Notice) =>
      isFor(notice.tenantId) &&
      (notice.escalateTo.includes(type) ||
        (mayWant(notice.kind) &&
          rankOf(notice.severity) >= rankOf(channel.minSeverity) &&
          isAmong(tools, notice.toolName) &&
          isAmong(environments, notice.envName) &&
          isOfAgents(notice))),
  };
}
