import t from 'tap';
import { ReloadTurns } from '../../../src/daemon/reload/reload-turns.ts';

/** Resolves when all that is ready now has run. */
const turn = (): Promise<void> => new Promise((done) => void setImmediate(done));

t.test('reloads run one after the other, and what is asked for meanwhile is one more', async (t) => {
  const going: PromiseWithResolvers<boolean>[] = [];
  const turns = new ReloadTurns(() => {
    const next = Promise.withResolvers<boolean>();
    going.push(next);
    return next.promise;
  });
  const first = turns.ask();
  await turn();
  t.equal(going.length, 1);
  const further = Array.from({ length: 100 }, () => turns.ask());
  let hasEnded = false;
  const ended = turns.ended().then(() => {
    hasEnded = true;
  });
  await turn();
  t.equal(going.length, 1, 'none begins before the first has ended');
  going[0]?.resolve(false);
  t.equal(await first, false);
  await turn();
  t.equal(going.length, 2);
  t.equal(hasEnded, false);
  going[1]?.resolve(true);
  t.strictSame(new Set(await Promise.all(further)), new Set([true]));
  await ended;
  t.equal(going.length, 2);
});

t.test('a reload begins when it may', async (t) => {
  const ready = Promise.withResolvers<void>();
  let reloads = 0;
  const turns = new ReloadTurns(
    async () => {
      reloads += 1;
      return true;
    },
    () => ready.promise,
  );
  const asked = [turns.ask(), turns.ask()];
  await turn();
  t.equal(reloads, 0);
  ready.resolve();
  t.strictSame(await Promise.all(asked), [true, true]);
  t.equal(reloads, 1);
});
