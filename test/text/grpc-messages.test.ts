import t from 'tap';
import { hasUnreadMessages } from '../../src/text/grpc-messages.ts';

const frame = (flag: number, text: string): Buffer => {
  const prefix = Buffer.alloc(5, flag);
  prefix.writeUInt32BE(text.length, 1);
  return Buffer.concat([prefix, Buffer.from(text)]);
};

const plain = frame(0, 'plain');
const coded = frame(1, 'coded');
const cases: readonly { name: string; bytes: Buffer; coding: string; isUnread: boolean }[] = [
  { name: 'what is not compressed', bytes: plain, coding: 'snappy', isUnread: false },
  { name: 'a coding that nobody knows', bytes: coded, coding: 'snappy', isUnread: true },
  { name: 'no coding at all', bytes: coded, coding: '', isUnread: true },
  { name: 'two codings', bytes: coded, coding: 'gzip, snappy', isUnread: true },
  { name: 'a coding that is read', bytes: coded, coding: 'GZIP', isUnread: false },
  { name: 'one among others', bytes: Buffer.concat([plain, plain, coded]), coding: '', isUnread: true },
  { name: 'an empty one', bytes: Buffer.concat([frame(1, ''), plain]), coding: '', isUnread: false },
  { name: 'one that is cut off', bytes: coded.subarray(0, 7), coding: '', isUnread: true },
  { name: 'a prefix that is cut off', bytes: coded.subarray(0, 4), coding: '', isUnread: false },
  { name: 'nothing', bytes: Buffer.alloc(0), coding: '', isUnread: false },
];
for (const { name, bytes, coding, isUnread } of cases)
  t.test(`messages: ${name}`, async (t) => t.equal(hasUnreadMessages(bytes, coding), isUnread));
