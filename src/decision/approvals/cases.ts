import { join } from 'node:path';
import { ConfigError } from '../../config/load.ts';
import type { TenantConfig } from '../../config/schema.ts';
import type { Decision, Identity, Verdict } from '../../core/call.ts';
import { CredentialHomes } from '../../credentials/credential-homes.ts';
import { createTenantSecrets } from '../../credentials/tenant-secrets.ts';
import { workedMs } from '../../inspect/threads/worked-ms.ts';
import { compilePolicies } from '../../policy/index.ts';
import { signalEngines } from '../../risk/signals/index.ts';
import { loadPrivileges } from '../../risk/signals/privileges.ts';
import { defaultWeights } from '../../risk/signals/score.ts';
import type { HomeStore } from '../../state/store.ts';
import { type DetectorText, parseAddedDetectors } from '../../tenants/added-detectors.ts';
import { createCatalogues, ownTables } from '../../tenants/catalogues.ts';
import { loadEngines } from '../../tenants/engines.ts';
import type { TenantRules } from '../../tenants/policy-book.ts';
import { packageFile } from '../../util/program-files.ts';
import { withCandidates } from '../candidates.ts';
import { createNoticing } from '../noticing.ts';
import { packagedInjections, packagedMeanings } from '../packaged-readers.ts';
import { createSimulator, noStanding, type Simulator } from '../simulation/simulate.ts';
import type { SimulatedOutcome } from '../simulation/simulate-traces.ts';
import { toSimulatedCall } from '../simulation/simulated-call.ts';
import { type Case, caseTenantId, configOf, parseCaseFile, policiesOf, sayingOfFile } from './case-file.ts';

export { CaseFileError } from './case-file.ts';

/*
 * Test cases of policies, as their authors keep them beside the policies. Each is a call and what should
 * become of it. They are judged without a daemon and without a state, by the stages that judge live calls.
 */

interface Expected {
  readonly decision: Decision;
  /** The reason codes that must be there. Others may be there, too. */
  readonly reasons?: readonly string[] | undefined;
  /** The id of the rule that decides; null where none does; undefined where it does not matter. */
  readonly rule?: string | null | undefined;
}

export interface CaseResult {
  readonly name: string;
  readonly ok: boolean;
  readonly expected: Expected;
  readonly actual: SimulatedOutcome & { readonly explanation: readonly string[] };
}

export type Cases = Awaited<ReturnType<typeof openCases>>;

const ownData = packageFile('config');
/** The homes of credentials before a case: nobody has used any credential. */
const nobodysHomes: HomeStore = {
  homesOf: (_, credentials) => credentials.map(() => undefined),
  bindHomes: async () => 'full',
};
/** The agent that makes the calls of cases that name none. */
const someAgent = '00000000-0000-4000-8000-000000000001';

/** Loads what calls are understood and read by, from the data that comes with the gateway. */
export async function openCases() {
  const tables = ownTables();
  const injections = packagedInjections();
  const meanings = packagedMeanings();
  const engines = loadEngines();
  // The secrets serve to recognise things of earlier calls. A case has none, so an empty secret will do.
  const secrets = createTenantSecrets(Buffer.alloc(0));
  const homes = new CredentialHomes(nobodysHomes, secrets);
  const noticing = createNoticing(secrets, loadPrivileges(join(ownData, 'signals/privileges.yaml')));

  return {
    /**
     * Judges all cases of a parsed case file, in their order. `readPolicies` returns the parsed documents of
     * a policy file that the case file names, `readDetectors` the texts of the detectors that it adds. Throws
     * `CaseFileError` with everything that is wrong, and what `readPolicies` throws.
     */
    async run(
      written: unknown,
      readPolicies: (path: string) => Promise<readonly unknown[]>,
      readDetectors: (patterns: readonly string[]) => readonly DetectorText[] = () => [],
    ) {
      const file = parseCaseFile(written);
      const config = configOf(file);
      const tenant = config.tenants.get(caseTenantId) ?? config.defaultTenant(caseTenantId);
      const policies = await policiesOf(file, tenant, readPolicies);
      const added = sayingOfFile(() => {
        const detectors = parseAddedDetectors(readDetectors(file.detectors), undefined);
        const taken = detectors === undefined ? [] : engines.takenIn(detectors);
        if (taken.length > 0) throw new ConfigError(undefined, taken);
        return detectors;
      });
      const engine = engines.of({ ...tenant, added });
      const page = { rules: compilePolicies(withCandidates([], policies, true)), engine };
      const simulator = createSimulator({
        catalogues: sayingOfFile(() => createCatalogues(config, tables)),
        engines: signalEngines,
        weights: { ...defaultWeights, ...config.risk.weights },
        bounds: config.risk.bands,
        mode: config.mode,
        clock: workedMs,
        injections,
        meanings,
        // Cases give as a fact what a feed would say.
        findThreats: () => [],
        homes,
        ...noticing,
      });
      const judge = (it: Case): Promise<Verdict> => judgeCase(it, tenant, page, simulator);
      const results: CaseResult[] = [];
      for (const it of file.cases) results.push(toResult(it, await judge(it)));
      return results;
    },
  };
}

async function judgeCase(
  { call: described }: Case,
  tenant: TenantConfig,
  page: TenantRules,
  simulator: Simulator,
): Promise<Verdict> {
  const { body, facts, env = tenant.environments[0] } = described;
  const isText = typeof body === 'string' || body === undefined || body === null;
  const headers = flatHeaders(described.headers);
  const call = toSimulatedCall(
    {
      method: described.method,
      url: described.url,
      headers,
      body: Buffer.from(isText ? (body ?? '') : JSON.stringify(body)),
      // A body described as a value is JSON, whatever its header says, as for `POST /v1/scan`.
      contentType: isText ? contentTypeIn(headers) : 'application/json',
      identity: identityOf(env, facts.agent_id ?? someAgent, facts.runtime_type ?? null),
      agentStatus: 'active',
    },
    facts,
    Date.now(),
  );
  const ground = { tenant, page, given: facts, standingOf: async () => noStanding };
  const [decided] = await simulator.run(call, ground, [page.rules]);
  if (!decided) throw new Error('one set of rules gives one verdict');
  return decided.verdict;
}

function toResult({ name, expect: expected }: Case, verdict: Verdict): CaseResult {
  const { decision, reasonCodes, decidedBy, explanation } = verdict;
  const ok =
    decision === expected.decision &&
    (expected.reasons ?? []).every((it) => reasonCodes.includes(it)) &&
    (expected.rule === undefined || (decidedBy?.ruleId ?? null) === expected.rule);
  const actual = {
    decision,
    reasonCodes,
    ruleId: decidedBy?.ruleId,
    policyName: decidedBy?.policyName,
    explanation,
  };
  return { name, ok, expected, actual };
}

const identityOf = (envName: string, agentId: string, runtimeType: string | null): Identity => ({
  keyId: someAgent,
  keyPrefix: caseTenantId,
  tenantId: caseTenantId,
  envName,
  agentId,
  agentName: agentId,
  ownAgent: { agentId, name: agentId, runtimeType },
  permissions: new Set(),
});

/** Returns names and values in turn. As on the wire, one character is one byte. */
const flatHeaders = (described: Case['call']['headers']): string[] =>
  Object.entries(described).flatMap(([name, values]) =>
    [values].flat().flatMap((value) => [name, Buffer.from(value, 'utf8').toString('latin1')]),
  );

function contentTypeIn(flat: readonly string[]): string {
  const at = flat.findIndex((it, index) => index % 2 === 0 && it.toLowerCase() === 'content-type');
  return at < 0 ? '' : (flat[at + 1] ?? '');
}
