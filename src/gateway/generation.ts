import { isDeepStrictEqual } from 'node:util';
import type { ToolTables } from '../catalogue/catalogue.ts';
import { ConfigError, type Files, type Mistake } from '../config/load.ts';
import { suggestion } from '../config/mistakes.ts';
import type { Config } from '../config/schema.ts';
import type { Feeds } from '../feeds/feeds.ts';
import { headerNames } from '../http/decision-headers.ts';
import { canonicalText } from '../inspect/fingerprint/canonical-text.ts';
import { contentFingerprint } from '../inspect/fingerprint/content-fingerprint.ts';
import type { InjectionReader } from '../inspect/injection/reader.ts';
import type { MeaningReader } from '../inspect/intent/reader.ts';
import type { DetectorEngine } from '../inspect/match/engine.ts';
import type { BeginningMemory } from '../inspect/segments/known-beginning.ts';
import type { Readers } from '../inspect/threads/readers.ts';
import { workedMs } from '../inspect/threads/worked-ms.ts';
import { peppered } from '../key-text.ts';
import type { Log } from '../log.ts';
import type { NotificationDesk } from '../notifications/notifications.ts';
import { createTransport } from '../notifications/transport.ts';
import type { AnswerDesk } from '../pipeline/answer-desk.ts';
import { createAnswerMemory } from '../pipeline/answer-memory.ts';
import type { ApprovalDesk } from '../pipeline/approval-desk.ts';
import type { AuthThrottles } from '../pipeline/auth-throttle.ts';
import { type Catalogues, createCatalogues } from '../pipeline/catalogues.ts';
import { createCredentialHomes } from '../pipeline/credential-homes.ts';
import { createCredentials } from '../pipeline/credentials.ts';
import { createDescribeRefused } from '../pipeline/describe-refused.ts';
import type { Engines } from '../pipeline/engines.ts';
import type { Events } from '../pipeline/events.ts';
import type { Gate, GateStatus } from '../pipeline/gate.ts';
import type { IncidentDesk } from '../pipeline/incident-desk.ts';
import type { TokenBook } from '../pipeline/issued-tokens.ts';
import { keylessAgentOf } from '../pipeline/keyless.ts';
import { namesInFiles } from '../pipeline/known-names.ts';
import { createMessageInspector } from '../pipeline/message.ts';
import { createNoticing } from '../pipeline/noticing.ts';
import { createOpener } from '../pipeline/open-call.ts';
import { createOwnUpstream } from '../pipeline/own-upstream.ts';
import { createPipeline } from '../pipeline/pipeline.ts';
import { createPolicyBook } from '../pipeline/policy-book.ts';
import { createAnswerReader } from '../pipeline/read-answer.ts';
import { createRecorder } from '../pipeline/record.ts';
import { createRouteBook } from '../pipeline/route-book.ts';
import { namesOf } from '../pipeline/safe-names.ts';
import { createSimulator } from '../pipeline/simulate.ts';
import { createStages } from '../pipeline/stages.ts';
import type { TenantSecrets } from '../pipeline/tenant-secrets.ts';
import { createTenants } from '../pipeline/tenants.ts';
import { createThreatFinder } from '../pipeline/threats.ts';
import { createTokenFetcher } from '../pipeline/token-endpoint.ts';
import { createToolMemory } from '../pipeline/tool-memory.ts';
import { createToolSettings } from '../pipeline/tool-settings.ts';
import type { TraceFeed } from '../pipeline/trace-feed.ts';
import { trustTermsOf } from '../pipeline/trust-loss.ts';
import type { KnownNames } from '../policy/index.ts';
import type { NameReader } from '../safe-name.ts';
import { signalEngines } from '../signals/index.ts';
import type { PrivilegeTable } from '../signals/privileges.ts';
import type { RiskyParameters } from '../signals/risky-parameters.ts';
import { defaultWeights } from '../signals/score.ts';
import type { Journal } from '../state/journal.ts';
import type { Store } from '../state/store.ts';
import { createGuard } from '../upstream/guard.ts';
import { toHostMatcher } from '../upstream/host-glob.ts';
import type { ParentOptions } from '../upstream/parent.ts';
import { createResolver, type ResolveEntry } from '../upstream/resolve.ts';
import { loadRoots } from '../upstream/roots.ts';
import { createUpstream } from '../upstream/upstream.ts';
import type { Vault } from '../vault/vault.ts';
import { createKeyReader } from './key-reader.ts';
import { readListenersTls } from './listener-tls.ts';
import { readerOfRoots } from './named-files.ts';
import { createOwnNames } from './own-names.ts';
import type { PolicyFile } from './policy-files.ts';
import { keylessOf, routeKey } from './seed-keys.ts';

/** What outlives reloads. */
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
  readonly log: Log;
  readonly registeredTenants: Set<string>;
  ownListeners(): readonly { address: string; port: number }[];
  controlUrl(): string;
  status(): GateStatus;
}

/** What a generation is made of. */
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
  policyFiles: readonly PolicyFile[],
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
    findThreats: createThreatFinder(on.feeds, tenants),
    homes: createCredentialHomes(on.store, on.secrets),
    ...createNoticing(on.secrets, on.privileges),
    engines: signalEngines,
    weights: { ...defaultWeights, ...config.risk.weights },
    bounds: config.risk.bands,
    mode: config.mode,
  };
  const toolSettings = createToolSettings(config.tools);
  let isRetired = false;
  const stages = createStages({
    ...judging,
    toolSettings,
    store: on.store,
    policies,
    approvals: on.approvals,
    events: on.events,
    trust: trustTermsOf(config.risk.trust),
    isRetired: () => isRetired,
  });
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
  });
  const routes = createRouteBook(config, on.store, on.vault);
  const credentials = createCredentials(config, {
    store: on.store,
    routes,
    vault: on.vault,
    fetchToken: createTokenFetcher(upstream),
    issued: on.issuedTokens,
    keylessAgentId: keylessAgentOf(config)?.agentId,
    onFailure: (where, err) => on.log.warn({ ...where, err }, 'a token cannot be fetched'),
  });
  const passedThrough = config.intercept.passthrough.map(toHostMatcher);
  const namesFor = (tenantId: string): NameReader => namesOf(engineOf(tenantId));
  const record = createRecorder({
    ...on,
    trustLosses: config.risk.trust,
    credentials,
    describeRefused: createDescribeRefused({ ...judging, policies }),
    namesFor,
  });
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
    inspect: createPipeline(stages, record),
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
    names,
    credentials,
    routes,
    vault: on.vault,
    throttles: on.throttles,
    approvals: on.approvals,
    traceFeed: on.traceFeed,
    events: on.events,
    notifications: on.notifications,
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
function checkTools({ file, inbound, tools }: Config, { common }: Catalogues): void {
  const known = new Set([...common.tools, ...tools].map((it) => it.name));
  const mistakes: Mistake[] = [];
  for (const [index, { tool }] of [...inbound.values()].entries()) {
    if (tool === null || known.has(tool)) continue;
    const message = `there is no such tool${suggestion(tool, known)}`;
    mistakes.push({ path: `inbound[${index}].tool`, line: undefined, message });
  }
  if (mistakes.length > 0) throw new ConfigError(file, mistakes);
}
