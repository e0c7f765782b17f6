import { brotliCompressSync, gzipSync } from 'node:zlib';
import t from 'tap';
import { grpcMessages, hasUnreadMessages } from '../../../../src/inspect/decode/packed/grpc-messages.ts';

const frame = (flag: number, content: string | Buffer): Buffer => {
  const payload = Buffer.from(content);
  const prefix = Buffer.alloc(5, flag);
  prefix.writeUInt32BE(payload.length, 1);
  return Buffer.concat([prefix, payload]);
};

const plain = frame(0, 'plain');
const coded = frame(1, gzipSync('coded'));
const many = Buffer.concat(Array.from({ length: 2000 }, () => plain));
const tooMany = Buffer.concat(Array.from({ length: 100_001 }, () => frame(0, '')));
const cases: readonly { name: string; bytes: Buffer; coding: string; isUnread: boolean }[] = [
  { name: 'what is not compressed', bytes: plain, coding: 'snappy', isUnread: false },
  { name: 'a coding that nobody knows', bytes: coded, coding: 'snappy', isUnread: true },
  { name: 'no coding at all', bytes: coded, coding: '', isUnread: true },
  { name: 'two codings', bytes: coded, coding: 'gzip, snappy', isUnread: true },
  { name: 'a coding that is read', bytes: coded, coding: 'GZIP', isUnread: false },
  {
    name: 'a coding that it is not in',
    bytes: frame(1, brotliCompressSync('coded')),
    coding: 'gzip',
    isUnread: true,
  },
  {
    name: 'the end of a Connect stream behind it',
    bytes: Buffer.concat([coded, frame(2, '{}')]),
    coding: 'gzip',
    isUnread: false,
  },
  {
    name: 'trailers of gRPC-Web behind it',
    bytes: Buffer.concat([coded, frame(0x81, gzipSync('grpc-status:0'))]),
    coding: 'gzip',
    isUnread: false,
  },
  {
    name: 'a message that is cut off behind it',
    bytes: Buffer.concat([coded, plain.subarray(0, 7)]),
    coding: 'gzip',
    isUnread: true,
  },
  {
    name: 'a flag that nobody knows behind it',
    bytes: Buffer.concat([coded, frame(0x40, 'plain')]),
    coding: 'gzip',
    isUnread: true,
  },
  { name: 'one behind many', bytes: Buffer.concat([many, coded]), coding: 'gzip', isUnread: false },
  { name: 'one behind too many', bytes: Buffer.concat([tooMany, coded]), coding: 'gzip', isUnread: true },
  { name: 'too many that are not', bytes: tooMany, coding: 'gzip', isUnread: false },
  { name: 'one among others', bytes: Buffer.concat([plain, plain, coded]), coding: '', isUnread: true },
  { name: 'an empty one', bytes: Buffer.concat([frame(1, ''), plain]), coding: '', isUnread: false },
  { name: 'one that is cut off', bytes: coded.subarray(0, 7), coding: '', isUnread: true },
  { name: 'a prefix that is cut off', bytes: coded.subarray(0, 4), coding: '', isUnread: false },
  { name: 'nothing', bytes: Buffer.alloc(0), coding: '', isUnread: false },
];
for (const { name, bytes, coding, isUnread } of cases)
  t.test(`messages: ${name}`, async (t) => t.equal(hasUnreadMessages(bytes, coding), isUnread));

t.test('messages of Connect and gRPC-Web are taken apart with the last one', async (t) => {
  for (const flag of [2, 3, 0x80, 0x81])
    t.equal(grpcMessages(Buffer.concat([coded, frame(flag, 'end')])).length, 2, `flag ${flag}`);
  for (const flag of [4, 0x40, 0x82])
    t.equal(grpcMessages(Buffer.concat([coded, frame(flag, 'end')])).length, 0, `flag ${flag}`);
});
