import type { MaybePromise } from './page.ts';

/**
 * Keeps the homes of credentials without a vendor. The first use of a credential binds it, for the whole
 * tenant.
 */
export interface HomeStore {
  /**
   * Returns the home of each credential, in order; undefined for none. It binds nothing and extends nothing.
   */
  homesOf(
    tenantId: string,
    credentials: readonly string[],
    nowMs: number,
  ): MaybePromise<readonly (string | undefined)[]>;
  /**
   * Binds all of the credentials to the home or none, in one atomic step on all nodes. `elsewhere`: one is
   * bound to another home. `full`: there is no room for new ones.
   */
  bindHomes(binding: HomeBinding): Promise<'bound' | 'elsewhere' | 'full'>;
}

export interface HomeBinding {
  readonly tenantId: string;
  /** The agent of the key, which has room of its own. A call cannot get more room by naming another agent. */
  readonly agentId: string;
  /** A keyed hash of the registrable domain. */
  readonly home: string;
  readonly credentials: readonly BoundCredential[];
  readonly nowMs: number;
}

interface BoundCredential {
  /** A keyed hash of the credential. */
  readonly credential: string;
  /** How long the home stands from `nowMs` on, unless it is bound again. */
  readonly keptMs: number;
}
