import type { ListenAddress } from '../config/sections/addresses.ts';

/** The configuration in force: how many there were, and when it was taken. */
export interface ConfigStatus {
  /** 1 at the start, one more with each reload that was taken. */
  readonly generation: number;
  readonly loadedAtMs: number;
}

/** The same as `/readyz` shows it, with what came of the last reload. */
export interface ReloadStatus extends ConfigStatus {
  /** Why the last reload was refused; null when it was taken. */
  readonly lastError: string | null;
}

export interface Addresses {
  readonly proxy: readonly ListenAddress[];
  readonly control: readonly ListenAddress[];
}
