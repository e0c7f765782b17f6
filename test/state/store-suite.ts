import type { Test } from 'tap';
import { activity } from './suite/activity.ts';
import { admission } from './suite/admission.ts';
import { agents } from './suite/agents.ts';
import { approvals } from './suite/approvals.ts';
import { audit } from './suite/audit.ts';
import { budgets } from './suite/budgets.ts';
import { history } from './suite/history.ts';
import { homes } from './suite/homes.ts';
import { incidents } from './suite/incidents.ts';
import { keys } from './suite/keys.ts';
import { type OpenStore, openLab, type SuiteHints, type SuitePart } from './suite/lab.ts';
import { limits } from './suite/limits.ts';
import { mcpTools } from './suite/mcp-tools.ts';
import { nodes } from './suite/nodes.ts';
import { notices } from './suite/notices.ts';
import { pages } from './suite/pages.ts';
import { policies } from './suite/policies.ts';
import { retention } from './suite/retention.ts';
import { routes } from './suite/routes.ts';
import { serverClock } from './suite/server-clock.ts';
import { sessions } from './suite/sessions.ts';
import { sightings } from './suite/sightings.ts';
import { told } from './suite/told.ts';
import { traces } from './suite/traces.ts';
import { trust } from './suite/trust.ts';
import { usage } from './suite/usage.ts';
import { vault } from './suite/vault.ts';

const parts: Readonly<Record<string, SuitePart>> = {
  keys,
  agents,
  admission,
  limits,
  usage,
  budgets,
  policies,
  approvals,
  incidents,
  vault,
  routes,
  sessions,
  audit,
  traces,
  activity,
  history,
  trust,
  sightings,
  homes,
  'mcp tools': mcpTools,
  retention,
  notices,
  told,
  pages,
  nodes,
};

/** What every driver of the store promises. `open` gives an empty one. */
export async function storeSuite(
  t: Test,
  open: OpenStore,
  hints: SuiteHints = { clock: 'argument' },
): Promise<void> {
  const chosen = hints.clock === 'server' ? { 'clock of the server': serverClock } : parts;
  for (const [name, part] of Object.entries(chosen))
    await t.test(name, async (t) => part(t, await openLab(t, open, hints)));

  await t.test('a store is closed once', async (t) => {
    const store = await open();
    t.teardown(() => store.close());
    await store.close();
    await store.close();
    await t.rejects(store.keyById('acme', 'k'), 'then it answers nothing');
  });
}
