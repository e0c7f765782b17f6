import type { ListenAddress } from '../config/sections/addresses.ts';

/** The number of the configuration in force, and when it was taken. */
export interface ConfigStatus {
  /** 1 at the start, and one more with each reload that was taken. */
  readonly generation: number;
  readonly loadedAtMs: number;
}

/** The configuration in force as `/readyz` shows it, with the outcome of the last reload. */
export interface ReloadStatus extends ConfigStatus {
  /** The reason why the last reload was refused; null when it was taken. */
  readonly lastError: string | null;
}

export interface Addresses {
  readonly proxy: readonly ListenAddress[];
  readonly control: readonly ListenAddress[];
}
