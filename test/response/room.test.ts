import t from 'tap';
import { AnswerRoom } from '../../src/response/room.ts';

t.test('no tenant takes the room of the others', async (t) => {
  const room = new AnswerRoom(100, 40);
  t.ok(room.keep('a', 40));
  t.notOk(room.keep('a', 1), 'a tenant has its share');
  t.ok(room.keep('b', 40));
  t.notOk(room.keep('c', 21), 'and all together the room that there is');
  t.ok(room.keep('c', 20));
  t.ok(room.keep('a', -40));
  t.ok(room.keep('a', 40), 'what was given back is there again');
  for (const [tenantId, bytes] of Object.entries({ a: -40, b: -40, c: -20 }))
    t.ok(room.keep(tenantId, bytes));
  t.ok(room.keep('c', 40));
});

t.test('the log has one line a second about answers without room', async (t) => {
  const room = new AnswerRoom(100, 40);
  const due = [5, 6, 1_004, 1_005, 1_006].filter((nowMs) => room.isDueToTell(nowMs));
  t.strictSame(due, [5, 1_005]);
});
