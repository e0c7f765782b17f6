/** The place of this process among those of its daemon. */
export interface WorkerSlot {
  /** The number of the process, from 1. The first one does what one is to do for all. */
  readonly slot: number;
  readonly workers: number;
}

/** The place of the only process of its daemon. */
export const alone: WorkerSlot = { slot: 1, workers: 1 };
