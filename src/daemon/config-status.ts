import type { ListenAddress } from '../config/sections/addresses.ts';

/** The status of a configuration in `/readyz`. */
export interface ConfigStatus {
  readonly generation: number;
  readonly loadedAtMs: number;
}

export interface Addresses {
  readonly proxy: readonly ListenAddress[];
  readonly control: readonly ListenAddress[];
}
