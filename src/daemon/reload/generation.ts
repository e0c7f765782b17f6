import { isDeepStrictEqual } from 'node:util';
import type { ToolTables } from '../../catalogue/catalogue.ts';
import { suggestion } from '../../config/checks/mistakes.ts';
import { ConfigError, type Files, type Mistake } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { peppered } from '../../core/key-text.ts';
import type { Log } from '../../core/log.ts';
import type { NameReader } from '../../core/safe-name.ts';
import { createCredentialHomes } from '../../credentials/credential-homes.ts';
import { createCredentials } from '../../credentials/credentials.ts';
import type { TokenBook } from '../../credentials/issued-tokens.ts';
import { keylessAgentOf } from '../../credentials/keyless.ts';
import { createOwnUpstream } from '../../credentials/own-upstream.ts';
import { createRouteBook } from '../../credentials/route-book.ts';
import type { TenantSecrets } from '../../credentials/tenant-secrets.ts';
import { createTokenFetcher } from '../../credentials/token-endpoint.ts';
import type { Vault } from '../../credentials/vault.ts';
import { createAnswerMemory } from '../../decision/answers/answer-memory.ts';
import { createAnswerReader } from '../../decision/answers/read-answer.ts';
import type { AnswerDesk } from '../../decision/approvals/answer-desk.ts';
import type { ApprovalDesk } from '../../decision/approvals/approval-desk.ts';
import type { IncidentDesk } from '../../decision/approvals/incident-desk.ts';
import type { AuthThrottles } from '../../decision/auth-throttle.ts';
import { joinedWatch } from '../../decision/call-watch.ts';
import { createThreatFinder } from '../../decision/facts/threats.ts';
import { createToolMemory } from '../../decision/facts/tool-memory.ts';
import { trustTermsOf } from '../../decision/facts/trust-loss.ts';
import type { Gate, GateStatus } from '../../decision/gate.ts';
import { createMessageInspector } from '../../decision/message.ts';
import { createNoticing } from '../../decision/noticing.ts';
import { createOpener } from '../../decision/open-call.ts';
import { createPipeline } from '../../decision/pipeline.ts';
import { createSimulator } from '../../decision/simulation/simulate.ts';
import { createStages } from '../../decision/stages.ts';
import { createDescribeRefused } from '../../decision/trace/describe-refused.ts';
import type { Events } from '../../decision/trace/events.ts';
import { namesInFiles } from '../../decision/trace/known-names.ts';
import { createRecorder } from '../../decision/trace/record.ts';
import { safeNamesOf } from '../../decision/trace/safe-names.ts';
import type { TraceFeed } from '../../decision/trace/trace-feed.ts';
import { canonicalText } from '../../inspect/fingerprint/canonical-text.ts';
import { contentFingerprint } from '../../inspect/fingerprint/content-fingerprint.ts';
import type { InjectionReader } from '../../inspect/injection/reader.ts';
import type { MeaningReader } from '../../inspect/intent/reader.ts';
import type { DetectorEngine } from '../../inspect/match/engine.ts';
import type { BeginningMemory } from '../../inspect/segments/known-beginning.ts';
import type { Readers } from '../../inspect/threads/readers.ts';
import { workedMs } from '../../inspect/threads/worked-ms.ts';
import type { NotificationDesk } from '../../notify/notifications.ts';
import { createTransport } from '../../notify/transport.ts';
import type { KnownNames } from '../../policy/index.ts';
import type { Feeds } from '../../risk/feeds/feeds.ts';
import { signalEngines } from '../../risk/signals/index.ts';
import type { PrivilegeTable } from '../../risk/signals/privileges.ts';
import type { RiskyParameters } from '../../risk/signals/risky-parameters.ts';
import { defaultWeights } from '../../risk/signals/score.ts';
import type { Journal } from '../../state/journal.ts';
import type { Store } from '../../state/store.ts';
import { type Catalogues, createCatalogues } from '../../tenants/catalogues.ts';
import type { Engines } from '../../tenants/engines.ts';
import { createPolicyBook } from '../../tenants/policy-book.ts';
import { createTenants } from '../../tenants/tenants.ts';
import { createToolSettings } from '../../tenants/tool-settings.ts';
import { createDialer } from '../../wire/client/connect.ts';
import { createHttpClient } from '../../wire/client/http-client.ts';
import { createGuard } from '../../wire/client/reach/guard.ts';
import { toHostMatcher } from '../../wire/client/reach/host-glob.ts';
import type { ParentOptions } from '../../wire/client/reach/parent.ts';
import { createResolver, type ResolveEntry } from '../../wire/client/reach/resolve.ts';
import { loadRoots } from '../../wire/client/reach/roots.ts';
import { createUpstream } from '../../wire/client/upstream.ts';
import { headerNames } from '../../wire/server/decision-headers.ts';
import { countedRecorder, measuredInspect, measuredStages, upstreamWatch } from '../metrics/measured.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { readListenersTls } from '../start/listener-tls.ts';
import { createOwnNames } from '../start/own-names.ts';
import { keylessOf, routeKey } from '../start/seed-keys.ts';
import { createAccessLog } from '../telemetry/access-log.ts';
import type { Exporter } from '../telemetry/exporter.ts';
import { createSpans } from '../telemetry/spans.ts';
import { createKeyReader } from './key-reader.ts';
import { readerOfRoots } from './named-files.ts';
import type { LoadedPolicyFile } from './policy-files.ts';

/** Services that outlive reloads. */
export interface Foundations {
  readonly store: Store;
  readonly journal: Journal;
  readonly engines: Engines;
  readonly injections: InjectionReader;
  readonly meanings: MeaningReader;
  readonly beginnings: BeginningMemory;
  readonly readers: Readers;
  readonly riskyParameters: RiskyParameters;
  readonly toolTables: ToolTables;
  readonly feeds: Feeds;
  readonly pepper: Buffer;
  readonly secrets: TenantSecrets;
  readonly privileges: PrivilegeTable;
  readonly vault: Vault;
  readonly issuedTokens: TokenBook;
  readonly throttles: AuthThrottles;
  readonly approvals: ApprovalDesk;
  readonly traceFeed: TraceFeed;
  readonly answers: AnswerDesk;
  readonly incidents: IncidentDesk;
  readonly events: Events;
  readonly notifications: NotificationDesk;
  readonly metrics: Metrics;
  readonly exporter: Pick<Exporter, 'add'>;
  readonly log: Log;
  readonly registeredTenants: Set<string>;
  ownListeners(): readonly { address: string; port: number }[];
  controlUrl(): string;
  status(): GateStatus;
}

/** The material of a generation. */
export interface Material {
  readonly config: Config;
  readonly files: Files;
  /** All that policies of files may name. */
  readonly known: KnownNames;
  readonly catalogues: Catalogues;
}

/**
 * The names that hold in a configuration. Those of the generation before are used again where the tools are the same. Throws `ConfigError`
 * with the mistakes of tools and routes.
 */
export function openMaterial(config: Config, files: Files, on: Foundations, before?: Gate): Material {
  const isSame = before !== undefined && isDeepStrictEqual(before.config.tools, config.tools);
  const catalogues = isSame ? before.catalogues : createCatalogues(config, on.toolTables);
  checkTools(config, catalogues);
  return { config, files, catalogues, known: namesInFiles(config, catalogues, on.registeredTenants) };
}

/** Puts one generation together of the configuration and the policies of files. Throws `ConfigError`; nothing is changed then. */
export function createGate(
  { config, files, catalogues }: Material,
  policyFiles: readonly LoadedPolicyFile[],
  on: Foundations,
): Gate {
  const engineOf = enginesFor(config, on.engines);
  const tenants = createTenants(config, on.registeredTenants, on.store);
  const documents = policyFiles.flatMap((it) => it.documents);
  const policies = createPolicyBook(on.store, documents, engineOf);
  const names = headerNames(config.branding.headerWord);
  const guard = createGuard({
    allowPrivate: config.upstream.allowPrivate,
    deny: config.upstream.deny,
    allowedPorts: config.upstream.allowedPorts,
    ownListeners: on.ownListeners,
    isThreat: config.risk.blockThreats
      ? (address) => on.feeds.index.findAddress(address) !== undefined
      : never,
  });
  const keyless = keylessOf(config, on.pepper);
  const tools = { engine: on.engines.common, injections: on.injections, meanings: on.meanings };
  const open = createOpener({ readers: on.readers, tools, store: on.store, tenants });
  const judging = {
    catalogues,
    open,
    clock: workedMs,
    injections: on.injections,
    meanings: on.meanings,
    beginnings: on.beginnings,
    readers: on.readers,
    wantsUrls: () => on.feeds.index.indicators > 0,
    tenants,
    keyless,
    findThreats: createThreatFinder(on.feeds),
    homes: createCredentialHomes(on.store, on.secrets),
    ...createNoticing(on.secrets, on.privileges),
    engines: signalEngines,
    weights: { ...defaultWeights, ...config.risk.weights },
    bounds: config.risk.bands,
    mode: config.mode,
  };
  const toolSettings = createToolSettings(config.tools);
  let isRetired = false;
  const { counters } = on.metrics;
  const judgingStages = createStages({
    ...judging,
    toolSettings,
    store: on.store,
    policies,
    approvals: on.approvals,
    events: on.events,
    trust: trustTermsOf(config.risk.trust),
    isRetired: () => isRetired,
  });
  const stages = measuredStages(judgingStages, counters);
  const dialing = {
    resolver: createResolver({ resolve: config.upstream.resolve.map(toResolveEntry) }),
    roots: loadRoots(config.upstream.caFiles, readerOfRoots(files)),
    connectTimeoutMs: config.upstream.connectTimeoutMs,
    parent: toParent(config.upstream),
  };
  const upstream = createUpstream({
    ...dialing,
    guard,
    responseTimeoutMs: config.upstream.responseTimeoutMs,
    idleTimeoutMs: config.upstream.idleTimeoutMs,
    h2: config.upstream.h2,
    ownPrefix: names.requestPrefix,
    watch: upstreamWatch(counters),
  });
  const dialer = createDialer({ ...dialing, guard });
  const sendForItself = createHttpClient({
    connect: (to) => dialer.dial(to, 'http/1.1'),
    idleTimeoutMs: config.upstream.idleTimeoutMs,
  });
  const routes = createRouteBook(config, on.store, on.vault);
  const credentials = createCredentials(config, {
    store: on.store,
    routes,
    vault: on.vault,
    fetchToken: createTokenFetcher(sendForItself),
    issued: on.issuedTokens,
    keylessAgentId: keylessAgentOf(config)?.agentId,
    onFailure: (where, err) => on.log.warn({ ...where, err }, 'a token cannot be fetched'),
  });
  const passedThrough = config.intercept.passthrough.map(toHostMatcher);
  const namesFor = (tenantId: string): NameReader => safeNamesOf(engineOf(tenantId));
  const recordCall = createRecorder({
    ...on,
    trustLosses: config.risk.trust,
    credentials,
    describeRefused: createDescribeRefused({ ...judging, policies }),
    namesFor,
  });
  const watch = joinedWatch([
    ...(config.log.access ? [createAccessLog(on.log, Date.now)] : []),
    ...(config.telemetry.otlp === null ? [] : [createSpans((it) => on.exporter.add(it), Date.now)]),
  ]);
  const record = countedRecorder(recordCall, counters, watch);
  let running = 0;
  const closeWhenIdle = (): void => {
    if (isRetired && running === 0)
      upstream
        .close()
        .catch((error: unknown) => on.log.warn({ err: error }, 'old connections did not close'));
  };
  const leave = (): void => {
    running -= 1;
    closeWhenIdle();
  };
  return {
    config,
    enter() {
      running += 1;
      return leave;
    },
    retire() {
      isRetired = true;
      closeWhenIdle();
    },
    store: on.store,
    tenants,
    policies,
    catalogues,
    feeds: on.feeds,
    guard,
    upstream,
    isOwnUpstream: createOwnUpstream(config.upstream, tenants),
    isPassedThrough: (host) => passedThrough.some((matches) => matches(host)),
    open,
    inspect: measuredInspect(createPipeline(stages, record), counters),
    ...createMessageInspector({ ...judging, store: on.store, policies }, record),
    answerReader: createAnswerReader({ ...judging, policies }),
    answers: on.answers,
    toolSettings,
    answerMemory: createAnswerMemory(on.store, on.secrets, toolSettings),
    toolMemory: createToolMemory({
      store: on.store,
      policies,
      tenants,
      injections: on.injections,
      risky: on.riskyParameters,
      log: on.log,
      clock: judging.clock,
    }),
    simulator: createSimulator(judging),
    record,
    watch,
    names,
    credentials,
    routes,
    vault: on.vault,
    throttles: on.throttles,
    approvals: on.approvals,
    traceFeed: on.traceFeed,
    events: on.events,
    notifications: on.notifications,
    metrics: on.metrics,
    transport: createTransport({
      ...dialing,
      deny: config.upstream.deny,
      ownListeners: on.ownListeners,
    }),
    log: on.log,
    get controlUrl() {
      return on.controlUrl();
    },
    isOwnName: createOwnNames(config, readListenersTls(config, files), on.ownListeners),
    readKey: createKeyReader(on.pepper),
    safeName: (tenantId, name) => namesFor(tenantId)(name),
    hashKey: (digest) => peppered(digest, on.pepper),
    fingerprint: (tenantId, content) =>
      contentFingerprint(on.secrets.contentKey(tenantId), canonicalText(content)),
    routeKey: (route) => routeKey(route, on.pepper),
    keyless,
    status: on.status,
  };
}

const never = (): boolean => false;

export const toParent = ({ proxy, noProxy, proxyResolves }: Config['upstream']): ParentOptions | undefined =>
  proxy === null ? undefined : { url: proxy, noProxy, resolves: proxyResolves };

export const toResolveEntry = ({
  host,
  address,
  port,
}: Config['upstream']['resolve'][number]): ResolveEntry =>
  port === null ? { host, address } : { host, address, port };

/** The engine of each tenant, made now: no call waits for it. Throws `ConfigError` where there is nothing to make it of. */
export function enginesFor(config: Config, engines: Engines): (tenantId: string) => DetectorEngine {
  const tenants = [...config.tenants.values()];
  const mistakes = tenants.flatMap((tenant, index) =>
    engines.mistakesIn(tenant).map((it) => ({ ...it, path: `tenants[${index}].${it.path}` })),
  );
  if (mistakes.length > 0) throw new ConfigError(config.file, mistakes);
  engines.keepOnly(tenants);
  const ofTenant = new Map(tenants.map((tenant) => [tenant.id, engines.of(tenant)]));
  return (tenantId) => ofTenant.get(tenantId) ?? engines.common;
}

/** A route's misspelt tool would pass by the rules for the one that is meant. */
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
