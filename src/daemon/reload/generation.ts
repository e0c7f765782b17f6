import { isDeepStrictEqual } from 'node:util';
import { suggestion } from '../../config/checks/mistakes.ts';
import { ConfigError, type Files, type Mistake } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { peppered } from '../../core/key-text.ts';
import type { NameReader } from '../../core/safe-name.ts';
import { CredentialHomes } from '../../credentials/credential-homes.ts';
import { Credentials } from '../../credentials/credentials.ts';
import { keylessAgentOf } from '../../credentials/keyless.ts';
import { createOwnUpstream } from '../../credentials/own-upstream.ts';
import { RouteBook } from '../../credentials/route-book.ts';
import { createTokenFetcher } from '../../credentials/token-endpoint.ts';
import { AnswerMemory } from '../../decision/answers/answer-memory.ts';
import { createAnswerReader } from '../../decision/answers/read-answer.ts';
import { type CallWatch, joinedWatch } from '../../decision/call-watch.ts';
import { createThreatFinder } from '../../decision/facts/threats.ts';
import { ToolMemory } from '../../decision/facts/tool-memory.ts';
import { trustTermsOf } from '../../decision/facts/trust-loss.ts';
import type { Gate } from '../../decision/gate.ts';
import { MessageInspector } from '../../decision/message.ts';
import { createNoticing } from '../../decision/noticing.ts';
import { createOpener } from '../../decision/open-call.ts';
import { createPipeline } from '../../decision/pipeline.ts';
import { createSimulator } from '../../decision/simulation/simulate.ts';
import { createStages } from '../../decision/stages.ts';
import { createDescribeRefused } from '../../decision/trace/describe-refused.ts';
import { createRecorder } from '../../decision/trace/record.ts';
import { safeNamesOf } from '../../decision/trace/safe-names.ts';
import { canonicalText } from '../../inspect/fingerprint/canonical-text.ts';
import { contentFingerprint } from '../../inspect/fingerprint/content-fingerprint.ts';
import type { DetectorEngine } from '../../inspect/match/engine.ts';
import { workedMs } from '../../inspect/threads/worked-ms.ts';
import { signalEngines } from '../../risk/signals/index.ts';
import { defaultWeights } from '../../risk/signals/score.ts';
import type { AddedDetectors } from '../../tenants/added-detectors.ts';
import { type Catalogues, createCatalogues } from '../../tenants/catalogues.ts';
import type { Engines } from '../../tenants/engines.ts';
import { createPolicyBook } from '../../tenants/policy-book.ts';
import { createTenants, type Tenants } from '../../tenants/tenants.ts';
import { createToolSettings } from '../../tenants/tool-settings.ts';
import type { HttpClient } from '../../wire/client/http-client.ts';
import { createGuard, type Guard } from '../../wire/client/reach/guard.ts';
import { toHostMatcher } from '../../wire/client/reach/host-glob.ts';
import { headerNames } from '../../wire/server/decision-headers.ts';
import type { Foundations } from '../foundations.ts';
import { countedRecorder, measuredInspect, measuredStages, upstreamWatch } from '../metrics/measured.ts';
import { readListenersTls } from '../start/listener-tls.ts';
import { createOwnNames } from '../start/own-names.ts';
import { keylessOf, routeKey } from '../start/seed-keys.ts';
import { createAccessLog } from '../telemetry/access-log.ts';
import { createSpans } from '../telemetry/spans.ts';
import { createKeyReader } from './key-reader.ts';
import { createLifetime } from './lifetime.ts';
import type { LoadedPolicyFile } from './policy-files.ts';
import { createWaysOut } from './ways-out.ts';

/** The parts that a generation is built of. */
interface Material {
  readonly config: Config;
  readonly files: Files;
  readonly catalogues: Catalogues;
}

/** What stands in files that the configuration names. */
interface FromFiles {
  readonly policyFiles: readonly LoadedPolicyFile[];
  readonly added: AddedDetectors | undefined;
}

/**
 * Makes the catalogues of a configuration. Those of the generation before are used again where the
 * tools are the same. Throws `ConfigError` with the mistakes of tools and routes.
 */
export function openMaterial(config: Config, files: Files, on: Foundations, before?: Gate): Material {
  const isSame = before !== undefined && isDeepStrictEqual(before.config.tools, config.tools);
  const catalogues = isSame ? before.catalogues : createCatalogues(config, on.toolTables);
  checkTools(config, catalogues);
  return { config, files, catalogues };
}

/** Builds a generation of configuration and the files that it names. Throws `ConfigError`, with nothing changed. */
export function createGate(material: Material, { policyFiles, added }: FromFiles, on: Foundations): Gate {
  const { config, files } = material;
  const { store } = on;
  const { counters } = on.metrics;
  const engineOf = enginesFor(config, added, on.engines);
  const namesFor = (tenantId: string): NameReader => safeNamesOf(engineOf(tenantId));
  const tenants = createTenants(config, on.registeredTenants, store);
  const documents = policyFiles.flatMap((it) => it.documents);
  const policies = createPolicyBook(store, documents, engineOf);
  const judging = createJudging(material, on, { tenants, engine: engineOf() });
  const toolSettings = createToolSettings(config.tools);
  const names = headerNames(config.branding.headerWord);
  const { ownClient, isRetired, ...outside } = createOutside(material, on, names.requestPrefix);
  const routes = new RouteBook(config, store, on.vault);
  const credentials = createCredentialsOf(config, on, routes, ownClient);
  const watch = createWatch(config, on);
  const describeRefused = createDescribeRefused({ ...judging, policies });
  const recordCall = createRecorder({
    ...on,
    ...{ trustLosses: config.risk.trust, credentials, describeRefused, namesFor },
  });
  const record = countedRecorder(recordCall, counters, watch);
  const stages = createStages({
    ...judging,
    toolSettings,
    store,
    policies,
    approvals: on.approvals,
    events: on.events,
    trust: trustTermsOf(config.risk.trust),
    isRetired,
  });
  const messages = new MessageInspector({ ...judging, store, policies }, record);
  const passedThrough = config.intercept.passthrough.map(toHostMatcher);
  return {
    ...outliving(on),
    ...keysOf(on),
    ...answersOf(on, { judging, policies, tenants, toolSettings }),
    ...outside,
    inspectMessage: (opening, bytes, content) => messages.inspectMessage(opening, bytes, content),
    checkOpen: (opening) => messages.checkOpen(opening),
    config,
    tenants,
    policies,
    catalogues: judging.catalogues,
    detectorIds: on.engines.idsWith(added),
    toolSettings,
    names,
    routes,
    credentials,
    watch,
    record,
    keyless: judging.keyless,
    open: judging.open,
    inspect: measuredInspect(createPipeline(measuredStages(stages, counters), record), counters),
    simulator: createSimulator(judging),
    isOwnUpstream: createOwnUpstream(config.upstream, tenants),
    isPassedThrough: (host) => passedThrough.some((matches) => matches(host)),
    isOwnName: createOwnNames(config, readListenersTls(config, files), on.ownListeners),
    safeName: (tenantId, name) => namesFor(tenantId)(name),
    get controlUrl() {
      return on.controlUrl();
    },
  };
}

/** Makes the ways out of a generation, which close when it is retired and its last call is over. */
function createOutside({ config, files }: Material, on: Foundations, ownPrefix: string) {
  const guard = createGuardOf(config, on);
  const watch = upstreamWatch(on.metrics.counters);
  const { ownListeners } = on;
  const waysOut = createWaysOut(config, files, { guard, ownPrefix, watch, ownListeners });
  const lifetime = createLifetime(() => {
    waysOut.upstream.close().catch((err: unknown) => on.log.warn({ err }, 'old connections did not close'));
  });
  return { guard, ...waysOut, ...lifetime };
}

/** Makes the parts that the stages of calls, messages, answers and simulations have in common. */
function createJudging(
  { config, catalogues }: Material,
  on: Foundations,
  { tenants, engine }: { readonly tenants: Tenants; readonly engine: DetectorEngine },
) {
  const { store, readers, injections, meanings, beginnings, secrets } = on;
  const tools = { engine, injections, meanings };
  return {
    catalogues,
    open: createOpener({ readers, tools, store, tenants }),
    clock: workedMs,
    injections,
    meanings,
    beginnings,
    readers,
    wantsUrls: () => on.feeds.index.indicators > 0,
    tenants,
    keyless: keylessOf(config, on.pepper),
    findThreats: createThreatFinder(on.feeds),
    homes: new CredentialHomes(store, secrets),
    ...createNoticing(secrets, on.privileges),
    engines: signalEngines,
    weights: { ...defaultWeights, ...config.risk.weights },
    bounds: config.risk.bands,
    mode: config.mode,
  };
}

const createGuardOf = ({ upstream, risk }: Config, { feeds, ownListeners }: Foundations): Guard =>
  createGuard({
    allowPrivate: upstream.allowPrivate,
    deny: upstream.deny,
    allowedPorts: upstream.allowedPorts,
    ownListeners,
    isThreat: risk.blockThreats ? (address) => feeds.index.findAddress(address) !== undefined : never,
  });

const never = (): boolean => false;

const createCredentialsOf = (
  config: Config,
  { store, vault, issuedTokens, log }: Foundations,
  routes: RouteBook,
  client: HttpClient,
): Credentials =>
  new Credentials(config, {
    store,
    routes,
    vault,
    fetchToken: createTokenFetcher(client),
    issued: issuedTokens,
    keylessAgentId: keylessAgentOf(config)?.agentId,
    onFailure: (where, err) => log.warn({ ...where, err }, 'a token cannot be fetched'),
  });

/** Returns what follows calls on their way out: the access log, and spans. */
const createWatch = ({ log, telemetry }: Config, on: Foundations): CallWatch | undefined =>
  joinedWatch([
    ...(log.access ? [createAccessLog(on.log, Date.now)] : []),
    ...(telemetry.otlp === null ? [] : [createSpans((it) => on.exporter.add(it), Date.now)]),
  ]);

/** Returns the services that a gate hands on as they are. */
const outliving = ({
  store,
  feeds,
  answers,
  vault,
  throttles,
  approvals,
  traceFeed,
  ...on
}: Foundations) => ({
  ...{ store, feeds, answers, vault, throttles, approvals, traceFeed },
  ...{ events: on.events, notifications: on.notifications, metrics: on.metrics, log: on.log },
  status: on.status,
});

/** Makes the functions of a gate that hash keys and contents by the secrets of the state. */
const keysOf = ({
  pepper,
  secrets,
}: Foundations): Pick<Gate, 'readKey' | 'hashKey' | 'routeKey' | 'fingerprint'> => ({
  readKey: createKeyReader(pepper),
  hashKey: (digest) => peppered(digest, pepper),
  routeKey: (route) => routeKey(route, pepper),
  fingerprint: (tenantId, content) =>
    contentFingerprint(secrets.contentKey(tenantId), canonicalText(content)),
});

/** Makes the parts of a gate that read answers and remember them. */
function answersOf(
  { store, secrets, injections, riskyParameters: risky, log }: Foundations,
  { judging, policies, tenants, toolSettings }: AnswerParts,
): Pick<Gate, 'answerReader' | 'answerMemory' | 'toolMemory'> {
  const { clock } = judging;
  return {
    answerReader: createAnswerReader({ ...judging, policies }),
    answerMemory: new AnswerMemory(store, secrets, toolSettings),
    toolMemory: new ToolMemory({ store, policies, tenants, injections, risky, log, clock }),
  };
}

interface AnswerParts extends Pick<Gate, 'policies' | 'tenants' | 'toolSettings'> {
  readonly judging: ReturnType<typeof createJudging>;
}

/**
 * Makes the engine of each tenant now, so that no call waits for it, and that of tenants which are not named.
 * Throws `ConfigError` for mistakes in detectors.
 */
export function enginesFor(
  config: Config,
  added: AddedDetectors | undefined,
  engines: Engines,
): (tenantId?: string) => DetectorEngine {
  const tenants = [...config.tenants.values()].map((it) => ({ id: it.id, settings: { ...it, added } }));
  const taken = added === undefined ? [] : engines.takenIn(added);
  const mistakes = tenants.flatMap(({ settings }, index) =>
    engines.mistakesIn(settings).map((it) => ({ ...it, path: `tenants[${index}].${it.path}` })),
  );
  if (taken.length + mistakes.length > 0) throw new ConfigError(config.file, [...taken, ...mistakes]);
  const bare = engines.bare(added);
  engines.keepOnly([bare, ...tenants.map(({ settings }) => settings)]);
  const ofTenant = new Map(tenants.map(({ id, settings }) => [id, engines.of(settings)]));
  const common = engines.of(bare);
  return (tenantId) => (tenantId === undefined ? undefined : ofTenant.get(tenantId)) ?? common;
}

/**
 * Checks that the tools of routes exist. A misspelt tool would escape the rules for the tool that is meant.
 * Throws `ConfigError`.
 */
export function checkTools({ file, inbound, tools }: Config, { common }: Catalogues): void {
  const known = new Set([...common.tools, ...tools].map((it) => it.name));
  const mistakes: Mistake[] = [];
  for (const [index, { tool }] of [...inbound.values()].entries()) {
    if (tool === null || known.has(tool)) continue;
    const message = `there is no such tool${suggestion(tool, known)}`;
    mistakes.push({ path: `inbound[${index}].tool`, line: undefined, message });
  }
  if (mistakes.length > 0) throw new ConfigError(file, mistakes);
}
