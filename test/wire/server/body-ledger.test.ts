import { EventEmitter } from 'node:events';
import t from 'tap';
import { createBodyLedger, uncountedBytesMax } from '../../../src/wire/server/body-ledger.ts';

const megabyte = 1024 * 1024;
const perAgent = 4 * megabyte;

/** The answer of a call, as far as the ledger looks at it. */
class FakeAnswer extends EventEmitter {
  destroyed = false;

  close(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

const open = (isShared = false) => {
  const ledger = createBodyLedger(() => perAgent);
  const roomOf = (agentId: string, tenantId = 'acme') => {
    const answer = new FakeAnswer();
    return { answer, room: ledger.roomFor(answer, { tenantId, agentId }, isShared) };
  };
  return { ledger, roomOf };
};

t.test(
  'the bodies of one agent have room up to the total, and a further one is told to come again',
  async (t) => {
    const { ledger, roomOf } = open();
    t.equal(roomOf('a').room.hold(3 * megabyte), undefined);
    t.equal(roomOf('a').room.hold(megabyte), undefined, 'to the last byte');
    const refusal = roomOf('a').room.hold(megabyte);
    t.match(refusal, { code: 'GATEWAY_BUSY', extra: { retryAfterSeconds: 1 } });
    t.match(refusal?.message, /one agent.*limits\.max_body_bytes_total/);
    t.equal(ledger.heldBytes, perAgent, 'who is refused holds nothing');
    t.equal(roomOf('b').room.hold(megabyte), undefined, 'another agent has room of its own');
  },
);

t.test('a body that could never have room is too large, and the sentence says what to change', async (t) => {
  const { roomOf } = open();
  const refusal = roomOf('a').room.hold(perAgent + 1);
  t.match(refusal, {
    code: 'PAYLOAD_TOO_LARGE',
    extra: { actual_bytes: perAgent + 1, limit_bytes: perAgent },
  });
  t.match(refusal?.message, /raise limits\.max_body_bytes_total/);
});

t.test('a body that comes in pieces takes as much as has come, once', async (t) => {
  const { ledger, roomOf } = open();
  const { room } = roomOf('a');
  for (const held of [megabyte, megabyte, 2 * megabyte, megabyte]) t.equal(room.hold(held), undefined);
  t.equal(ledger.heldBytes, 2 * megabyte);
});

t.test('messages take as much as is held of them, and give the rest back', async (t) => {
  const { ledger, roomOf } = open();
  const { room, answer } = roomOf('a');
  for (const held of [megabyte, 3 * megabyte, 2 * megabyte]) {
    t.equal(room.keep(held), undefined);
    t.equal(ledger.heldBytes, held);
  }
  t.match(roomOf('a').room.keep(3 * megabyte), { code: 'GATEWAY_BUSY' });
  t.match(room.keep(perAgent + 1), { code: 'PAYLOAD_TOO_LARGE' });
  t.equal(room.keep(uncountedBytesMax), undefined);
  t.equal(ledger.heldBytes, 0, 'short ones are not counted');
  t.equal(answer.listenerCount('close'), 1);
  room.keep(megabyte);
  answer.close();
  t.equal(ledger.heldBytes, 0);
});

t.test('all that a call has taken is given back when its answer closes, however it ends', async (t) => {
  const { ledger, roomOf } = open();
  const { room, answer } = roomOf('a');
  room.hold(megabyte);
  room.hold(perAgent);
  answer.close();
  answer.emit('close');
  t.equal(ledger.heldBytes, 0);
  t.equal(room.hold(megabyte), undefined, 'what comes behind the end is not kept by anybody');
  t.equal(ledger.heldBytes, 0);
  t.equal(roomOf('a').room.hold(perAgent), undefined);
});

t.test('a body that finds no room midway gives back what it had when its call ends', async (t) => {
  const { ledger, roomOf } = open();
  roomOf('a').room.hold(3 * megabyte);
  const { room, answer } = roomOf('a');
  t.equal(room.hold(megabyte), undefined);
  t.match(room.hold(2 * megabyte), { code: 'GATEWAY_BUSY' });
  answer.close();
  t.equal(ledger.heldBytes, 3 * megabyte);
});

t.test('short bodies are not counted: connections bound them', async (t) => {
  const { ledger, roomOf } = open();
  roomOf('a').room.hold(perAgent);
  t.equal(roomOf('a').room.hold(uncountedBytesMax), undefined);
  t.match(roomOf('a').room.hold(uncountedBytesMax + 1), { code: 'GATEWAY_BUSY' });
  t.equal(ledger.heldBytes, perAgent);
});

t.test('all agents together have four times the room of one', async (t) => {
  const { roomOf } = open();
  for (const agent of ['a', 'b', 'c', 'd']) t.equal(roomOf(agent).room.hold(perAgent), undefined);
  const refusal = roomOf('e').room.hold(megabyte);
  t.match(refusal, { code: 'GATEWAY_BUSY', extra: { retryAfterSeconds: 1 } });
  t.match(refusal?.message, /all agents/);
});

t.test('where there are several tenants, one may hold as much as stays free for others', async (t) => {
  const { roomOf } = open(true);
  for (const agent of ['a', 'b']) t.equal(roomOf(agent).room.hold(perAgent), undefined);
  t.match(roomOf('c').room.hold(megabyte), { code: 'GATEWAY_BUSY' }, 'half of all is the most');
  t.equal(roomOf('d', 'other').room.hold(perAgent), undefined);
  t.equal(roomOf('f', 'third').room.hold(2 * megabyte), undefined);
});

t.test('a lower total holds from the next body on', async (t) => {
  let total = perAgent;
  const ledger = createBodyLedger(() => total);
  const first = ledger.roomFor(new FakeAnswer(), { tenantId: 'acme', agentId: 'a' }, false);
  t.equal(first.hold(perAgent), undefined);
  total = megabyte;
  const second = ledger.roomFor(new FakeAnswer(), { tenantId: 'acme', agentId: 'b' }, false);
  t.match(second.hold(2 * megabyte), { code: 'PAYLOAD_TOO_LARGE', extra: { limit_bytes: megabyte } });
});
