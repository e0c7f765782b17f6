import type { SeenSecrets } from '../../core/history.ts';
import { registrableDomain } from '../../credentials/registrable-domain.ts';
import { hashedMax, hashesMax, hashOf } from '../../credentials/secret-hashes.ts';
import type { TenantSecrets } from '../../credentials/tenant-secrets.ts';
import type { Store } from '../../state/store.ts';
import type { ToolSettings } from '../../tenants/tool-settings.ts';
import type { AnswerReading } from './read-answer.ts';

export interface SeenAnswer {
  readonly tenantId: string;
  readonly agentId: string;
  readonly traceId: string;
  readonly toolName: string;
  /** The host that has answered; '' for an answer that was only reported. */
  readonly host: string;
  /** The organisation, account or bucket at that host. */
  readonly account?: string | undefined;
  readonly atMs: number;
  /** Returns what the call itself has sent. An answer that shows it again has not brought it. */
  readonly sent?: () => readonly Buffer[];
}

/**
 * The number of values from which an answer is a list of people. A page or ticket has an address or two,
 * which may go out.
 */
export const listValuesMin = 3;
/** The length to which a host is kept. No real name is longer. */
const hostLengthMax = 255;

/**
 * Remembers sensitive answers to agents. It keeps fingerprints by which the content is recognised, and not
 * the content.
 */
export class AnswerMemory {
  readonly #store: Pick<Store, 'noteSighting'>;
  readonly #shingler;
  readonly #credentialKey;
  readonly #tools: Pick<ToolSettings, 'isSensitive'>;

  constructor(
    store: Pick<Store, 'noteSighting'>,
    { shingler, credentialKey }: Pick<TenantSecrets, 'shingler' | 'credentialKey'>,
    tools: Pick<ToolSettings, 'isSensitive'>,
  ) {
    this.#store = store;
    this.#shingler = shingler;
    this.#credentialKey = credentialKey;
    this.#tools = tools;
  }

  /** Tells whether answers of this tool are sensitive, whatever is found in them. */
  isSensitive(tenantId: string, toolName: string): boolean {
    return this.#tools.isSensitive(tenantId, toolName) === true;
  }

  saw({ tenantId, toolName, host, account, sent, ...seen }: SeenAnswer, reading: AnswerReading): void {
    const { sensitiveClasses: classes, texts } = reading;
    // Secrets are noted before the read: whoever sends on what was granted to him has not carried it out.
    this.#noteSecrets({ tenantId, host, ...seen }, reading);
    // What an agent reports may be withheld from it, and says nothing of what it has read.
    if (reading.injection.detected && host !== '')
      this.#store.noteSighting(tenantId, { kind: 'orders', ...seen });
    const isRead = this.#tools.isSensitive(tenantId, toolName) ?? classes.length > 0;
    if (!isRead) return;
    const { ofRead, ofWrite } = this.#shingler(tenantId);
    const own = new Set(sent && ofWrite(sent()));
    const shingles = ofRead(texts).filter((it) => !own.has(it));
    this.#store.noteSighting(tenantId, {
      kind: 'read',
      ...seen,
      host: host.slice(0, hostLengthMax),
      ...(account === undefined ? {} : { account }),
      ...(this.#isSlight(tenantId, toolName, reading) ? { isSlight: true } : {}),
      classes,
      shingles,
    });
  }

  #isSlight(tenantId: string, toolName: string, { values, secrets }: AnswerReading): boolean {
    return !this.isSensitive(tenantId, toolName) && secrets.length === 0 && values < listValuesMin;
  }

  #noteSecrets(
    { tenantId, host, ...seen }: Pick<SeenAnswer, 'tenantId' | 'agentId' | 'traceId' | 'host' | 'atMs'>,
    { secrets, granted }: Pick<AnswerReading, 'secrets' | 'granted'>,
  ): void {
    if (secrets.length === 0) return;
    const key = this.#credentialKey(tenantId);
    const note = (all: readonly Buffer[], how: Pick<SeenSecrets, 'isGranted' | 'cameFrom'>): void => {
      if (all.length === 0) return;
      const hashes = new Set(all.slice(0, hashedMax).map((it) => hashOf(key, it)));
      this.#store.noteSighting(tenantId, {
        kind: 'secrets',
        ...seen,
        hashes: [...hashes].slice(0, hashesMax),
        ...how,
      });
    };
    // A reported answer may be invented, so it does not tell where credentials belong.
    if (host === '') {
      note(secrets, {});
      return;
    }
    const cameFrom = registrableDomain(host.slice(0, hostLengthMax));
    const { access, renewal } = granted;
    note(access, { isGranted: true });
    note(renewal, { isGranted: true, cameFrom });
    note(
      secrets.filter((it) => !access.includes(it) && !renewal.includes(it)),
      { cameFrom },
    );
  }
}
