import type { MaybePromise } from './page.ts';

/** The homes of credentials without a vendor: the first use of one binds it, for the whole tenant. */
export interface HomeStore {
  /** Returns each credential's home in order, undefined for none. It binds nothing and extends nothing. */
  homesOf(
    tenantId: string,
    credentials: readonly string[],
    nowMs: number,
  ): MaybePromise<readonly (string | undefined)[]>;
  /**
   * Binds the credentials to the home in one atomic step on all nodes, all of them or none. `elsewhere`: one
   * is bound to another home. `full`: there is no room for new ones.
   */
  bindHomes(binding: HomeBinding): Promise<'bound' | 'elsewhere' | 'full'>;
}

export interface HomeBinding {
  readonly tenantId: string;
  /** The key's agent: each has room of its own, and no call can name another one to get more. */
  readonly agentId: string;
  /** A keyed hash of the registrable domain. */
  readonly home: string;
  readonly credentials: readonly BoundCredential[];
  readonly nowMs: number;
}

interface BoundCredential {
  /** A keyed hash. */
  readonly credential: string;
  /** How long the home stands from now on, unless it is bound again. */
  readonly keptMs: number;
}
