import { endedOf, type Snapshot } from '../metrics/exposition.ts';
import type { Member } from './member.ts';

/** The time for an answer. A worker that is busy for longer is counted as it was when it answered last. */
const measureMs = 2_000;

/**
 * Gathers the metrics of all workers for the one that asks. What an ended worker has counted stays, as of its
 * last answer: a smaller sum would look like a restart of the daemon.
 */
export class Gathering {
  readonly #last = new Map<Member, Snapshot>();
  #ended: Snapshot = [];
  #underWay: Promise<void> | undefined;

  /**
   * Returns the metrics of all workers, ended ones too. Callers that ask at the same time share one round.
   */
  async gather(serving: () => readonly Member[]): Promise<readonly Snapshot[]> {
    this.#underWay ??= this.#measure(serving()).finally(() => {
      this.#underWay = undefined;
    });
    await this.#underWay;
    const now = serving().map((it) => this.#last.get(it) ?? []);
    return this.#ended.length > 0 ? [...now, this.#ended] : now;
  }

  /** Keeps what a worker that has ended had counted. */
  async keep(member: Member): Promise<void> {
    const last = this.#last.get(member);
    this.#last.delete(member);
    if (last) this.#ended = await endedOf([this.#ended, last]);
  }

  async #measure(members: readonly Member[]): Promise<void> {
    await Promise.allSettled(
      members.map(async (it) => {
        const snapshot = await it.askIdly({ to: 'measure' }, measureMs);
        if (!it.isGone) this.#last.set(it, snapshot);
      }),
    );
  }
}
