import t from 'tap';
import { inSlices } from '../../src/util/pace.ts';

t.test('the event loop has turns between the slices of a work', async (t) => {
  let hasHadTurn = false;
  setImmediate(() => {
    hasHadTurn = true;
  });
  function* untilTurn() {
    while (!hasHadTurn) yield;
    return 'done';
  }
  const work = inSlices(untilTurn());
  t.type(work, Promise);
  t.equal(await work, 'done');
});

t.test('the result of a short work is there at once, and so is its error', async (t) => {
  t.equal(inSlices([].values()), undefined);
  t.equal(inSlices(stepsTo('done')), 'done');
  t.throws(() => inSlices(stepsTo(undefined)), { message: 'nothing' });
});

function* stepsTo(result: string | undefined) {
  yield;
  if (result === undefined) throw new Error('nothing');
  return result;
}
