import t from 'tap';
import { openLog } from '../../../src/core/log.ts';
import {
  answersWaitingMax,
  createAnswerDesk,
  failuresWaitingMax,
} from '../../../src/decision/approvals/answer-desk.ts';

const log = openLog({ level: 'silent', file: null });

/** Returns a desk whose state keeps nothing until `resolve` is called, and what it has kept. */
function waitingDesk() {
  const kept: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const desk = createAnswerDesk(
    {
      async addResponseScan(_tenantId, _traceId, scan) {
        await promise;
        kept.push(scan);
        return true;
      },
    },
    log,
  );
  return { desk, kept, resolve };
}

t.test('keeps what it takes in its order, and more than it may hold it does not', async (t) => {
  const { desk, kept, resolve } = waitingDesk();
  for (let i = 0; i < answersWaitingMax + 10; i++) desk.take('acme', 'trace', String(i));
  resolve();
  await desk.close();
  t.strictSame(
    kept,
    Array.from({ length: answersWaitingMax }, (_, i) => String(i)),
  );
  desk.take('acme', 'trace', 'later');
  await desk.close();
  t.equal(kept.at(-1), 'later', 'there is room again');
});

t.test('a state that fails does not stop the next one', async (t) => {
  const kept: string[] = [];
  const desk = createAnswerDesk(
    {
      async addResponseScan(_tenantId, _traceId, scan) {
        if (scan === 'bad') throw new Error('away');
        kept.push(scan);
        return scan !== 'unknown';
      },
    },
    log,
  );
  for (const scan of ['bad', 'unknown', 'good']) desk.take('acme', 'trace', scan);
  await desk.close();
  t.strictSame(kept, ['unknown', 'good']);
});

t.test('calls without an answer leave room for what is found in answers', async (t) => {
  const { desk, kept, resolve } = waitingDesk();
  for (let i = 0; i < failuresWaitingMax + 10; i++) desk.failed('acme', 'trace', 'UPSTREAM_UNREACHABLE');
  desk.take('acme', 'trace', 'found');
  resolve();
  await desk.close();
  t.equal(kept.length, failuresWaitingMax + 1);
  t.match(JSON.parse(kept[0] ?? ''), { at: /^\d{4}-/, failure: 'UPSTREAM_UNREACHABLE' });
  t.equal(kept.at(-1), 'found');
});
