import type { Test } from 'tap';
import { agentToAgent } from './a2a.ts';
import { approvals } from './approvals.ts';
import { decisions } from './decisions.ts';
import { ephemeralKeys } from './ephemeral.ts';
import { errors } from './errors.ts';
import { events } from './events.ts';
import { inboundRoutes } from './inbound.ts';
import { keys } from './keys.ts';
import { type Lab, openLab } from './lab.ts';
import { limits } from './limits.ts';
import { policies } from './policies.ts';
import { rules } from './rules.ts';
import { scans } from './scan.ts';
import { settings } from './settings.ts';

/** The sentences of the contract, by what they speak of. */
const chapters: Readonly<Record<string, (t: Test, lab: Lab) => Promise<void>>> = {
  'API keys': keys,
  'Ephemeral keys': ephemeralKeys,
  Scans: scans,
  Policies: policies,
  Rules: rules,
  Decisions: decisions,
  Approvals: approvals,
  'Agent to agent': agentToAgent,
  Inbound: inboundRoutes,
  'Limits and usage': limits,
  Settings: settings,
  Events: events,
  'Errors and versioning': errors,
};

/** Tries every sentence on one daemon whose state is at `stateUrl`; the same list whatever holds the state. */
export async function contractSuite(t: Test, stateUrl: string): Promise<void> {
  const lab = await openLab(t, stateUrl);
  for (const [name, chapter] of Object.entries(chapters)) await t.test(name, (t) => chapter(t, lab));
}
