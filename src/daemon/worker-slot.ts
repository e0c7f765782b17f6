/** Which of the processes of a daemon this is. */
export interface WorkerSlot {
  /** From 1. The first one does what one is to do for all. */
  readonly slot: number;
  readonly workers: number;
}

/** The only process of its daemon. */
export const alone: WorkerSlot = { slot: 1, workers: 1 };
