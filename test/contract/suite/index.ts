import type { Test } from 'tap';
import { agentToAgent } from './a2a.ts';
import { addresses } from './addresses.ts';
import { approvals } from './approvals.ts';
import { decisions } from './decisions.ts';
import { ephemeralKeys } from './ephemeral.ts';
import { errors } from './errors.ts';
import { events } from './events.ts';
import { inboundRoutes } from './inbound.ts';
import { keys } from './keys.ts';
import { type Lab, openLab, type StateSetup } from './lab.ts';
import { limits } from './limits.ts';
import { permissions } from './permissions.ts';
import { policies } from './policies.ts';
import { proxiedCalls } from './proxied.ts';
import { proxyErrors } from './proxy-errors.ts';
import { rules } from './rules.ts';
import { scans } from './scan.ts';
import { settings } from './settings.ts';
import { stored } from './stored.ts';
import { tenants } from './tenants.ts';

/** The sentences of the contract, by what they speak of. */
const chapters: Readonly<Record<string, (t: Test, lab: Lab) => Promise<void>>> = {
  'API keys': keys,
  'Ephemeral keys': ephemeralKeys,
  Permissions: permissions,
  Tenants: tenants,
  Addresses: addresses,
  Scans: scans,
  Policies: policies,
  Rules: rules,
  Decisions: decisions,
  Approvals: approvals,
  'Agent to agent': agentToAgent,
  Inbound: inboundRoutes,
  'Proxied calls': proxiedCalls,
  'Errors of the proxy': proxyErrors,
  'Limits and usage': limits,
  Settings: settings,
  Events: events,
  'What is stored': stored,
  'Errors and versioning': errors,
};

/** Chapters of what a daemon does by itself, whatever holds its state. */
const ofTheDaemon: ReadonlySet<string> = new Set([
  'Addresses',
  'Errors of the proxy',
  'Settings',
  'Errors and versioning',
]);
/** Chapters that ask a Cluster what they ask a single Redis, by scripts each of which test/state tries on a Cluster. */
const bySameScripts: ReadonlySet<string> = new Set([
  'Scans',
  'Rules',
  'Decisions',
  'Agent to agent',
  'Inbound',
  'Proxied calls',
  'Limits and usage',
]);

/** Tries every sentence on a daemon with that state; what a daemon does by itself is tried beside the embedded one alone. */
export async function contractSuite(t: Test, state: StateSetup): Promise<void> {
  const lab = await openLab(t, state);
  const isEmbedded = state.url.startsWith('embedded:');
  const isCluster = state.url.startsWith('redis+cluster:');
  for (const [name, chapter] of Object.entries(chapters)) {
    if ((!isEmbedded && ofTheDaemon.has(name)) || (isCluster && bySameScripts.has(name))) continue;
    await t.test(name, (t) => chapter(t, lab));
  }
}
