import t, { type Test } from 'tap';
import { createApprovalSweep } from '../../../src/decision/approvals/approval-sweep.ts';
import type { Store } from '../../../src/state/store.ts';
import { approvalRecord } from '../../state/records.ts';

type Warn = Parameters<typeof createApprovalSweep>[0]['log'];

const listening = (hear: (text: string) => void): Warn => ({
  warn: (_: unknown, text?: unknown) => hear(String(text)),
});
const quiet = (t: Test): Warn => listening((text) => t.fail(text));

type Expire = Store['expireApprovals'];

/** Resolves once it was asked so often. */
function asking(times: number, answer: Expire) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let asked = 0;
  const expireApprovals: Expire = (...args) => {
    asked += 1;
    if (asked === times) resolve();
    return answer(...args);
  };
  return { store: { expireApprovals }, enough: promise };
}

t.test('it looks on while there is more, and again after a while', async (t) => {
  const expired = approvalRecord({ status: 'expired' });
  const steps = [[expired], [expired], []];
  const { store, enough } = asking(5, async () => steps.shift() ?? []);
  const sweep = createApprovalSweep({ store, log: quiet(t), everyMs: 1 });
  await enough;
  await sweep.close();
  t.same(steps, [], 'each step was taken');
});

t.test('it goes on when the state is back, and says that it was away', async (t) => {
  const warned: string[] = [];
  const log = listening((text) => warned.push(text));
  const { store, enough } = asking(2, async () => {
    if (warned.length === 0) throw new Error('away');
    return [];
  });
  const sweep = createApprovalSweep({ store, log, everyMs: 1 });
  await enough;
  await sweep.close();
  t.same(warned, ['expired approvals could not be written down']);
});

t.test('it does not look on without end', async (t) => {
  let asked = 0;
  const expireApprovals: Expire = async () => {
    asked += 1;
    return [approvalRecord()];
  };
  const sweep = createApprovalSweep({ store: { expireApprovals }, log: quiet(t), everyMs: 60_000 });
  // A look is a chain of promises that are kept already.
  await new Promise((done) => setImmediate(done));
  t.equal(asked, 100);
  await sweep.close();
});

t.test('it ends when it is closed, in the middle of a look as well', async (t) => {
  let asked = 0;
  const { store, enough } = asking(1, async () => {
    asked += 1;
    await new Promise((done) => setImmediate(done));
    return [approvalRecord()];
  });
  const sweep = createApprovalSweep({ store, log: quiet(t) });
  await enough;
  await sweep.close();
  t.equal(asked, 1);
});
