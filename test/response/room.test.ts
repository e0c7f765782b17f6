import t from 'tap';
import { createAnswerRoom } from '../../src/response/room.ts';

t.test('no tenant takes the room of the others', async (t) => {
  const { keep } = createAnswerRoom(100, 40);
  t.ok(keep('a', 40));
  t.notOk(keep('a', 1), 'a tenant has its share');
  t.ok(keep('b', 40));
  t.notOk(keep('c', 21), 'and all together the room that there is');
  t.ok(keep('c', 20));
  t.ok(keep('a', -40));
  t.ok(keep('a', 40), 'what was given back is there again');
  for (const [tenantId, bytes] of Object.entries({ a: -40, b: -40, c: -20 })) t.ok(keep(tenantId, bytes));
  t.ok(keep('c', 40));
});
