import t from 'tap';
import { AnswerRoom } from '../../src/response/room.ts';

const agent = (agentId: string, tenantId = 'acme') => ({ agentId, tenantId });

t.test('no agent takes the room of the others of its tenant', async (t) => {
  const room = new AnswerRoom(1000, 40);
  t.ok(room.keep(agent('a'), 20));
  t.notOk(room.keep(agent('a'), 1), 'an agent leaves as much as it has');
  t.ok(room.keep(agent('b'), 10));
  t.notOk(room.keep(agent('b'), 1), 'and so does the next one of the rest');
  t.ok(room.keep(agent('c'), 5));
  t.ok(room.keep(agent('a'), -20));
  t.ok(room.keep(agent('c'), 7), 'what was given back is there again');
});

t.test('no tenant takes the room of the others', async (t) => {
  const room = new AnswerRoom(100, 40);
  const fill = (tenantId: string): number => {
    let bytes = 0;
    for (let at = 0; at < 100; at += 1) while (room.keep(agent(`${tenantId}${at}`, tenantId), 1)) bytes += 1;
    return bytes;
  };
  t.same(
    ['a', 'b', 'c', 'd'].map(fill),
    [39, 30, 15, 8],
    'a tenant has its share, and leaves as much as it has',
  );
});

t.test('the log has one line a second about answers without room', async (t) => {
  const room = new AnswerRoom(100, 40);
  const due = [5, 6, 1_004, 1_005, 1_006].filter((nowMs) => room.isDueToTell(nowMs));
  t.strictSame(due, [5, 1_005]);
});
