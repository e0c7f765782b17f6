import { toGatewayError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Store } from '../../state/store.ts';
import type { AnswerFinding } from '../answers/answer-findings.ts';

/** Scans that may wait; above this the state is too slow or away, and findings are in the log. */
export const answersWaitingMax = 1000;

/**
 * Keeps what was found in answers with the traces of their calls, without anybody waiting for it. They go one
 * after the other, since a trace is found once its call was shipped. The first of several has all of them
 * shipped.
 */
export type AnswerDesk = ReturnType<typeof createAnswerDesk>;

/** Hears of each thing that an answer to a call was found to be or to have. */
type FoundListener = (finding: AnswerFinding) => void;

export function createAnswerDesk(
  store: Pick<Store, 'addResponseScan'>,
  log: Log,
  found: FoundListener = () => undefined,
) {
  let running = Promise.resolve();
  let waiting = 0;

  async function keep(tenantId: string, traceId: string, scan: string): Promise<void> {
    try {
      if (await store.addResponseScan(tenantId, traceId, scan)) return;
      log.error({ trace_id: traceId, scan }, 'the trace of an answer is not in the state');
    } catch (error) {
      log.error(
        { trace_id: traceId, scan, err: toGatewayError(error) },
        'what was found in an answer was not kept',
      );
    } finally {
      waiting -= 1;
    }
  }

  return {
    /** Tells whoever counts them of findings that no other part of the same answer had. */
    found(findings: Iterable<AnswerFinding>) {
      for (const it of findings) found(it);
    },
    /** `scan` is JSON without any of the content. */
    take(tenantId: string, traceId: string, scan: string) {
      if (waiting >= answersWaitingMax) {
        log.error({ trace_id: traceId, scan }, 'what was found in an answer was not kept');
        return;
      }
      waiting += 1;
      running = running.then(() => keep(tenantId, traceId, scan));
    },
    /** Resolves when all that was taken is in the state, or was tried. */
    close: () => running,
  };
}
