import { ConfigError, type Mistake } from '../../config/load.ts';
import { GatewayError, type ProblemCode } from '../../core/errors.ts';
import type { Bound } from '../bound.ts';
import type { Addresses, ConfigStatus, ReloadStatus } from '../config-status.ts';
import type { Snapshot } from '../metrics/exposition.ts';
import type { SeedResult } from '../start/seed.ts';
import type { WorkerSlot } from '../worker-slot.ts';
import type { TakenFiles } from './taken-files.ts';

/*
 * Messages between parent and worker. The parent gives orders one after the other, and each is answered once.
 * A worker does nothing by itself but serve, and ask for the metrics of all.
 */

export type Order =
  | {
      readonly to: 'open';
      readonly file: string;
      readonly taken: TakenFiles;
      readonly place: WorkerSlot;
      readonly standing: ReloadStatus;
    }
  | { readonly to: 'listen'; readonly addresses: Addresses }
  /** Seeds the state from what was opened or prepared last. */
  | { readonly to: 'seed' }
  | { readonly to: 'prepare'; readonly taken: TakenFiles }
  | { readonly to: 'take'; readonly standing: ConfigStatus }
  /** Drops the prepared generation, if there is one; `reason` is shown at `/readyz`. */
  | { readonly to: 'drop'; readonly reason: string }
  /** Takes the metrics of this worker. */
  | { readonly to: 'measure' }
  /** Hands the metrics of all workers to one that has asked for them. */
  | { readonly to: 'show'; readonly snapshots: readonly Snapshot[] }
  | { readonly to: 'stop'; readonly graceMs: number };

/** Facts of a worker that do not follow from the configuration. They are the same in the whole daemon. */
export interface Opened {
  readonly groundDigest: string;
}

/** The answer to each order. */
export interface Answers {
  open: Opened;
  listen: Bound;
  seed: SeedResult;
  prepare: undefined;
  take: undefined;
  drop: undefined;
  measure: Snapshot;
  show: undefined;
  stop: undefined;
}

export interface OrderMessage {
  readonly id: number;
  readonly order: Order;
}

export type AnswerMessage =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | { readonly id: number; readonly ok: false; readonly failure: Failure };

/** The request of a worker for the metrics of all, which only its parent can get. */
export interface AskMessage {
  readonly asks: 'metrics';
}

/** An error in the form in which it is sent to the parent. */
export interface Failure {
  readonly message: string;
  readonly code: ProblemCode | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly file: string | undefined;
  readonly mistakes: readonly Mistake[] | undefined;
}

export const toFailure = (error: unknown): Failure => ({
  message: error instanceof Error ? error.message : String(error),
  code: error instanceof GatewayError ? error.code : undefined,
  retryAfterSeconds: error instanceof GatewayError ? error.extra.retryAfterSeconds : undefined,
  file: error instanceof ConfigError ? error.file : undefined,
  mistakes: error instanceof ConfigError ? error.mistakes : undefined,
});

/** Returns the error that a failure was made of, of the same kind. */
export function fromFailure({ message, code, retryAfterSeconds, file, mistakes }: Failure): Error {
  if (mistakes) return new ConfigError(file, mistakes);
  if (code === undefined) return new Error(message);
  return new GatewayError(code, message, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
}
