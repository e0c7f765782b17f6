import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { overridingTargets } from '../catalogue/overriding-target.ts';
import type { Config, InboundRoute } from '../config/schema.ts';
import type { DecidedCall, OwnAgent } from '../core/call.ts';
import { GatewayError } from '../core/errors.ts';
import { readingsOf } from '../core/url-readings.ts';
import { loadOrMakeSecrets } from '../state/rules/secrets.ts';
import type { MaybePromise, SealedCredential, Store } from '../state/store.ts';
import { after } from '../util/maybe-promise.ts';
import { inSlices } from '../util/pace.ts';
import { makeScrub, type Scrub } from '../wire/client/scrub/scrub.ts';
import type { CredentialEntry } from './credential-entry.ts';
import { parseSecret } from './credential-secret.ts';
import { type HeldCredential, heldAsIs, heldByToken } from './held-credential.ts';
import {
  askReadable,
  type Injection,
  type ReadyCredential,
  type Secret,
  toReadyCredential,
} from './injection.ts';
import type { TokenBook } from './issued-tokens.ts';
import { createOwnedCredentials, type Near, type Owned } from './owned-credentials.ts';
import type { RouteBook } from './route-book.ts';
import type { FetchToken } from './token-endpoint.ts';
import { createVault, parseVaultKeys, type Vault, vaultKeyBytes } from './vault.ts';

interface CredentialsOptions {
  readonly store: Pick<Store, 'credentialOf'>;
  readonly routes: Pick<RouteBook, 'storedOf'>;
  readonly vault: Vault;
  readonly fetchToken: FetchToken;
  /** Tokens fetched lately, some of them by the generation before. */
  readonly issued: TokenBook;
  /** Reports why the token of a credential could not be fetched. */
  onFailure(where: { readonly tenantId: string; readonly credential: string }, error: GatewayError): void;
  /** The agent of calls that bring no key; undefined where every call needs one. */
  readonly keylessAgentId?: string | undefined;
  /** Returns the time for signatures, in milliseconds; the clock of the machine by default. */
  readonly now?: () => number;
  /** Returns milliseconds since any moment, for tokens. It is never set back. */
  readonly elapsed?: () => number;
}

/**
 * Holds the credentials that the gateway sends instead of the agent, in one generation of the configuration.
 * An answer is looked through for every credential that its host may have got, whoever sent it. One agent
 * must not see what another one may send.
 */
export class Credentials {
  readonly #options: CredentialsOptions;
  readonly #now;
  readonly #elapsed;
  readonly #owned;
  /**
   * Opened credentials. To open one and to prepare the search for it costs more than a small call, so it is
   * done once for each secret.
   */
  readonly #opened = new WeakMap<CredentialEntry, Opened>();

  constructor(config: Pick<Config, 'credentials' | 'inbound'>, options: CredentialsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#elapsed = options.elapsed ?? (() => performance.now());
    this.#owned = createOwnedCredentials(config, options.routes);
  }

  /**
   * Returns the name of the credential of a proxied call, whether or not it can be sent; undefined where
   * there is none. Never throws.
   */
  nameFor(call: DecidedCall): string | undefined {
    const { identity, target, received } = call;
    const { wayCredential } = received;
    if (wayCredential !== undefined) return wayCredential ?? undefined;
    // Credentials that only routes name are sent by routes alone.
    const own = this.#owned.ofFile(identity.tenantId);
    if (!own) return undefined;
    const candidates = this.#candidatesFor(call, own.near(target.host), identity.ownAgent);
    const [chosen, ...more] = candidates.length === 0 ? [] : chosenBy(candidates, call);
    return more.length === 0 ? chosen?.name : undefined;
  }

  /**
   * Returns the first credential in the file whose tenant, host, path and agent are the call's; the agent is
   * the key's own. Returns undefined where no credential goes to that host. Fails with CREDENTIAL_UNAVAILABLE
   * where one does that cannot be used.
   */
  forCall(call: DecidedCall): MaybePromise<Injection | undefined> {
    const { identity, target } = call;
    const injectOf = (own: Owned | undefined): MaybePromise<Injection | undefined> => {
      const near = own?.near(target.host);
      if (!near || near.entries.length === 0) return undefined;
      const candidates = this.#candidatesFor(call, near, identity.ownAgent);
      const chosen = candidates.length === 0 ? undefined : choose(candidates, call);
      if (chosen && target.scheme !== 'https')
        throw unavailable(`The credential ${chosen.name} is sent over https only.`);
      return this.#inject({ tenantId: identity.tenantId, host: target.host }, near, chosen);
    };
    return after(this.#owned.of(identity.tenantId), injectOf);
  }

  /**
   * Returns the credential that the route names. The agent is the route's, else the key's own. Fails with
   * CREDENTIAL_UNAVAILABLE where it cannot be used, or is for other hosts, paths or agents.
   */
  forRoute(
    { identity, target }: DecidedCall,
    { tenantId, credential, agentId }: InboundRoute,
  ): MaybePromise<Injection | undefined> {
    const injectOf = (own: Owned | undefined): MaybePromise<Injection | undefined> => {
      const named = own?.entries.find((it) => it.name === credential);
      if (!named && credential !== null)
        throw unavailable(`The credential ${credential} of the route is not known here.`);
      const agent = agentId === null ? identity.ownAgent : { agentId, name: identity.agentName };
      if (named && !(named.goesTo(target.host) && named.isOf(agent) && isAlwaysAt(named, target.href)))
        throw unavailable(
          `The credential ${named.name} is for other hosts, paths or agents than the call's.`,
        );
      return own && this.#inject({ tenantId, host: target.host }, own.near(target.host), named);
    };
    return after(this.#owned.of(tenantId), injectOf);
  }

  #make(tenantId: string, entry: CredentialEntry, secret: Secret): HeldCredential {
    if (secret.type !== 'oauth2_client_credentials') return heldAsIs(toReadyCredential(secret, this.#now));
    const client = { ...secret.client, tenantId };
    const where = { tenantId, credential: entry.name };
    return heldByToken(client, {
      fetch: () => this.#options.fetchToken(client),
      issued: this.#options.issued.of(tenantId, entry.name),
      now: this.#elapsed,
      onFailure: (error) => this.#options.onFailure(where, error),
    });
  }

  #open(tenantId: string, entry: CredentialEntry, record: SealedCredential | undefined): Found {
    const { name, config } = entry;
    const known = this.#opened.get(entry);
    if (record && known?.sealed === record.sealed) return known.held;
    // The token goes with the secret: a secret that was taken out and put in again asks for another one.
    this.#opened.delete(entry);
    if (!record) return unavailable(`The credential ${name} is not in the vault, or was revoked.`);
    if (config && record.type !== config.type)
      return unavailable(`The credential ${name} is of another type in the vault than in the configuration.`);
    const text = this.#options.vault.open(record, record.sealed);
    if (text === undefined)
      return unavailable(`The credential ${name} cannot be opened with the key of the vault.`);
    const secret = parseSecret(record.type, text, name, config);
    if (!secret)
      return unavailable(`Neither the configuration nor the vault says how the credential ${name} is sent.`);
    const held = this.#make(tenantId, entry, secret);
    this.#opened.set(entry, { sealed: record.sealed, held });
    return held;
  }

  #ofFile(tenantId: string, entry: CredentialEntry, secret: Secret): HeldCredential {
    const known = this.#opened.get(entry);
    if (known) return known.held;
    const held = this.#make(tenantId, entry, secret);
    this.#opened.set(entry, { sealed: undefined, held });
    return held;
  }

  #find(tenantId: string, entry: CredentialEntry): MaybePromise<Found> {
    if (entry.secret) return this.#ofFile(tenantId, entry, entry.secret);
    return after(this.#options.store.credentialOf(tenantId, entry.name), (it) =>
      this.#open(tenantId, entry, it),
    );
  }

  /**
   * Tells whether an agent may use a credential. A caller without a key may be a stranger, so it needs a
   * credential that names its agent.
   */
  #mayUse(entry: CredentialEntry, agent: OwnAgent): boolean {
    return agent.agentId === this.#options.keylessAgentId ? entry.isOfNamed(agent) : entry.isOf(agent);
  }

  #inject(
    { tenantId, host }: { readonly tenantId: string; readonly host: string },
    near: Near,
    chosen: CredentialEntry | undefined,
  ): MaybePromise<Injection | undefined> {
    const all = near.entries.map((it) => this.#find(tenantId, it));
    const toInjection = (found: readonly Found[]): MaybePromise<Injection | undefined> => {
      const sent = chosen && found[near.entries.indexOf(chosen)];
      if (sent instanceof GatewayError) throw sent;
      const others = found.filter(isThere);
      const ready = sent?.take();
      if (!(ready instanceof Promise)) return injectionOf(host, near, others, ready);
      // While the token was fetched, the credential may have been revoked or replaced.
      return ready
        .then(() => this.#find(tenantId, chosen as CredentialEntry))
        .then((again) => {
          if (again instanceof GatewayError) throw again;
          return again.take();
        })
        .then((it) => injectionOf(host, near, others, it));
    };
    return all.every(isSettled) ? toInjection(all) : Promise.all(all).then(toInjection);
  }

  /** Returns the credentials among which the path of the call chooses. */
  #candidatesFor({ target }: DecidedCall, { entries }: Near, agent: OwnAgent): readonly CredentialEntry[] {
    return entries.filter((it) => it.isFor(target.host) && this.#mayUse(it, agent));
  }
}

/** An opened credential, with the sealed text that it was opened from; undefined for one of the file. */
interface Opened {
  readonly sealed: string | undefined;
  readonly held: HeldCredential;
}

type Found = HeldCredential | GatewayError;
const isThere = (it: Found): it is HeldCredential => !(it instanceof GatewayError);
const isSettled = (it: MaybePromise<Found>): it is Found => !(it instanceof Promise);

function injectionOf(
  host: string,
  near: Near,
  held: readonly HeldCredential[],
  sent: ReadyCredential | undefined,
): MaybePromise<Injection | undefined> {
  const known = held.map((it) => it.known());
  const ready = sent && !known.includes(sent) ? [...known, sent] : known;
  if (ready.length === 0) return undefined;
  const { apply = askReadable, sign, onStatus } = sent ?? {};
  // A credential whose answers may be stored must not hide another one that the host may have got.
  const mayBeStored = known.every((it) => it.mayBeStored?.(host) === true);
  return after(scrubOf(near, ready), (scrub) => ({
    apply: mayBeStored || !sent?.mayBeStored ? apply : (request) => askReadable(apply(request)),
    scrub,
    mayBeStored,
    ...(sign ? { sign } : {}),
    ...(onStatus ? { onStatus } : {}),
  }));
}

/**
 * Returns what looks for the secrets in answers. It is made anew when the secrets have changed, before the
 * first call that they concern.
 */
function scrubOf(near: Near, ready: readonly ReadyCredential[]): MaybePromise<Scrub> {
  if (!near.scrub || ready.length !== near.ready.length || ready.some((it, i) => it !== near.ready[i])) {
    near.ready = ready;
    const made = inSlices(makeScrub([...new Set(ready.flatMap((it) => it.secrets))]));
    near.scrub = after(made, (scrub) => {
      // From now on no call waits for a promise.
      if (near.ready === ready) near.scrub = scrub;
      return scrub;
    });
  }
  return near.scrub;
}

/**
 * Returns the credential of the path. Throws where readings of the path, or paths that headers name, lead to
 * different credentials.
 */
function choose(candidates: readonly CredentialEntry[], call: DecidedCall): CredentialEntry | undefined {
  const [chosen, ...more] = chosenBy(candidates, call);
  if (more.length > 0)
    throw unavailable('The path can be read in several ways, which lead to different credentials.');
  return chosen;
}

/** Returns the credentials that the readings of the path lead to, each once. */
const chosenBy = (
  candidates: readonly CredentialEntry[],
  call: DecidedCall,
): readonly (CredentialEntry | undefined)[] => {
  const hrefs = [call.target, ...overridingTargets(call)].map(({ href }) => href);
  return [...new Set(hrefs.flatMap(pathsOf).map((path) => candidates.find((it) => it.isAt(path))))];
};

const isAlwaysAt = (entry: CredentialEntry, href: string): boolean =>
  pathsOf(href).every((path) => entry.isAt(path));

/** Returns all readings of the path of a URL, without the query. */
const pathsOf = (href: string): readonly string[] =>
  readingsOf(href).map((url) => {
    const start = url.indexOf('/', url.indexOf('://') + 3);
    return start < 0 ? '/' : (url.slice(start).split('?', 1)[0] ?? '/');
  });

const unavailable = (detail: string): GatewayError => new GatewayError('CREDENTIAL_UNAVAILABLE', detail);

/**
 * Returns the vault with the keys of the configuration. If it names none, the vault has the key beside the
 * state, which is made on the first start. A key file that is named must be there: a new key would open
 * nothing that was sealed before.
 */
export function openVault({ vault, state }: Pick<Config, 'vault' | 'state'>): Vault {
  if (vault.key !== null) {
    const keys = parseVaultKeys(vault.key);
    if (!keys) throw new Error('The variable that vault.key_env names must hold 32 bytes in hex or base64.');
    return createVault(...keys);
  }
  if (vault.keyFile !== null && !existsSync(vault.keyFile))
    throw new Error(`${vault.keyFile}, the key of the vault, is not there.`);
  return createVault(...loadOrMakeSecrets(vault.keyFile ?? join(state.dir, 'vault-key'), vaultKeyBytes));
}
