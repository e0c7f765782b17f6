import type { ListenAddress } from '../config/sections/addresses.ts';

/** What `/readyz` tells of a configuration. */
export interface ConfigStatus {
  readonly generation: number;
  readonly loadedAtMs: number;
}

export interface Addresses {
  readonly proxy: readonly ListenAddress[];
  readonly control: readonly ListenAddress[];
}
