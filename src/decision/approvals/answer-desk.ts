import { type ProblemCode, toGatewayError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Store } from '../../state/store.ts';
import type { AnswerFinding } from '../answers/answer-findings.ts';

/**
 * The number of scans that may wait. Above it the state is too slow or away, and findings are only in the
 * log.
 */
export const answersWaitingMax = 1000;
/**
 * The number above which no failure of a call is taken. An agent that calls a host in vain, again and again,
 * leaves room for what was found in the answers to others.
 */
export const failuresWaitingMax = 100;

/**
 * Keeps what was found in answers with the traces of their calls. Nobody waits for it. Scans go one after the
 * other, since a trace is found only once its call was shipped. The first scan of several has all of them
 * shipped.
 */
export type AnswerDesk = ReturnType<typeof createAnswerDesk>;

/** Receives each finding of an answer to a call. */
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

  function take(tenantId: string, traceId: string, scan: string): void {
    waiting += 1;
    running = running.then(() => keep(tenantId, traceId, scan));
  }

  return {
    /** Counts findings that no other part of the same answer had. */
    found(findings: Iterable<AnswerFinding>) {
      for (const it of findings) found(it);
    },
    /** Takes a scan, to keep it with the trace. `scan` is JSON without any of the content. */
    take(tenantId: string, traceId: string, scan: string) {
      if (waiting >= answersWaitingMax) {
        log.error({ trace_id: traceId, scan }, 'what was found in an answer was not kept');
        return;
      }
      take(tenantId, traceId, scan);
    },
    /** Notes with the trace that a call which was let out got no answer. The agent and the metrics know it. */
    failed(tenantId: string, traceId: string, code: ProblemCode) {
      if (waiting >= failuresWaitingMax) return;
      take(tenantId, traceId, JSON.stringify({ at: new Date().toISOString(), failure: code }));
    },
    /** Resolves when all that was taken is in the state, or keeping it was tried. */
    close: () => running,
  };
}
