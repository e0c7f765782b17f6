import t from 'tap';
import { Inbox, unpackInput } from '../../../src/inspect/threads/crossing.ts';

const bytesOf = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, at) => at % 251));

t.test('long input is copied in several turns, and is whole then', async (t) => {
  const inbox = new Inbox();
  const input = { head: bytesOf(300_000), few: Buffer.from('a few'), body: bytesOf(900_001) };
  const { packed, copyNext } = inbox.pack(input);
  let turns = 1;
  while (copyNext()) turns += 1;
  t.ok(turns > 3, 'no turn copies all of it');
  t.notOk(copyNext(), 'and there is no more');
  t.same(unpackInput(packed.input, packed.memory ?? new SharedArrayBuffer(0)), input);
});

t.test('short input is copied at once', async (t) => {
  const { copyNext } = new Inbox().pack({ body: bytesOf(200_000) });
  t.notOk(copyNext());
});
