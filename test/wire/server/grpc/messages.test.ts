import t from 'tap';
import { frameOf } from '../../../../src/wire/grpc/grpc-prefix.ts';
import { MessageReader } from '../../../../src/wire/server/grpc/messages.ts';

const payloads = ['one', '', '', 'two', 'x'.repeat(5_000), '', 'three'].map((it) => Buffer.from(it));
const body = Buffer.concat(payloads.map(frameOf));

t.test('takes messages out of a body in whatever pieces it comes, and leaves no byte out', async (t) => {
  for (const size of [1, 2, 4, 5, 6, 13, 5_000, 100_000]) {
    const reader = new MessageReader(10_000);
    const frames: Buffer[] = [];
    const texts: string[] = [];
    for (let at = 0; at < body.length; at += size) {
      reader.push(body.subarray(at, at + size));
      for (let message = reader.next(); message; message = reader.next()) {
        frames.push(message.frame);
        if (message.payload.length > 0) texts.push(message.payload.toString());
      }
    }
    t.ok(Buffer.concat(frames).equals(body), `in pieces of ${size}`);
    t.same(texts, payloads.map(String).filter(Boolean));
    t.notOk(reader.isMidway || reader.hasUnread);
  }
});

t.test('empty messages that come together are one', async (t) => {
  const reader = new MessageReader(10);
  reader.push(Buffer.concat([Buffer.alloc(500), Buffer.from([1, 0, 0, 0, 0]), frameOf(Buffer.from('x'))]));
  const empty = reader.next();
  t.equal(empty?.frame.length, 505);
  t.equal(empty?.payload.length, 0);
  t.same(reader.next()?.payload, Buffer.from('x'));
  t.equal(reader.next(), undefined);
});

t.test('tells whether a message has begun', async (t) => {
  const reader = new MessageReader(10);
  const frame = frameOf(Buffer.from('hello'));
  t.notOk(reader.isMidway);
  for (const byte of frame.subarray(0, -1)) {
    reader.push(Buffer.from([byte]));
    t.equal(reader.next(), undefined);
    t.ok(reader.isMidway);
  }
  reader.push(frame.subarray(-1));
  t.same(reader.next()?.frame, frame);
  t.notOk(reader.isMidway);
});

t.test('refuses what is no message, and what is too large before it comes', async (t) => {
  const cases: readonly [name: string, bytes: number[], code: string][] = [
    ['an unknown flag', [2, 0, 0, 0, 1], 'VALIDATION_FAILED'],
    ['an unknown flag of an empty message', [3, 0, 0, 0, 0], 'VALIDATION_FAILED'],
    ['one byte too much', [0, 0, 0, 0, 11], 'PAYLOAD_TOO_LARGE'],
    ['all that can be said', [1, 255, 255, 255, 255], 'PAYLOAD_TOO_LARGE'],
  ];
  for (const [name, bytes, code] of cases) {
    const reader = new MessageReader(10);
    reader.push(Buffer.from(bytes));
    t.throws(() => reader.next(), { code }, name);
  }
});
