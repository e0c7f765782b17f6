import t from 'tap';
import { GrpcSplitter } from '../../src/response/grpc.ts';
import { frameOf } from '../../src/wire/grpc/grpc-prefix.ts';

const messages = ['one', '', 'three ✓', 'x'.repeat(300), 'last'].map((it) => frameOf(Buffer.from(it)));
const stream = Buffer.concat(messages);

t.test('messages are told apart however they are cut', async (t) => {
  for (let size = 1; size <= stream.length; size += 1) {
    const splitter = new GrpcSplitter(1_000);
    const events = [];
    for (let at = 0; at < stream.length; at += size)
      events.push(...splitter.push(stream.subarray(at, at + size)));
    t.same(
      events.map((it) => it.bytes),
      messages,
      `${size} bytes at a time`,
    );
    t.notOk(events.some((it) => it.isPart));
    t.equal(splitter.end(), undefined);
    t.equal(splitter.pendingBytes, 0);
  }
});

t.test(
  'a message that is longer than is read at once comes in parts, and what follows is whole',
  async (t) => {
    const splitter = new GrpcSplitter(100);
    const events = splitter.push(stream);
    t.same(
      events.map((it) => [it.bytes.length, it.isPart]),
      [
        [8, false],
        [5, false],
        [messages[2]?.length, false],
        ...[100, 100, 100, 5].map((it) => [it, true]),
        [9, false],
      ],
    );
    t.same(Buffer.concat(events.map((it) => it.bytes)), stream);
  },
);

t.test('a message that does not end is a part, and no more of it is kept', async (t) => {
  const splitter = new GrpcSplitter(100);
  const endless = Buffer.from([0, 0xff, 0xff, 0xff, 0xff]);
  t.same(splitter.push(endless), []);
  for (let at = 0; at < 100; at += 1) {
    splitter.push(Buffer.alloc(99));
    t.ok(splitter.pendingBytes < 100);
  }
  t.match(splitter.end(), { isPart: true });
  const half = new GrpcSplitter(100);
  half.push(Buffer.from([0, 0]));
  t.match(half.end(), { bytes: Buffer.from([0, 0]), isPart: true });
});
