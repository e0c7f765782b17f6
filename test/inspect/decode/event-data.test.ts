import t from 'tap';
import { eventDataOf } from '../../../src/inspect/decode/event-data.ts';

const cases: readonly {
  readonly event: string;
  readonly data: string | undefined;
  readonly lines?: number;
  /** With the data `x`, line by line. */
  readonly other?: string;
}[] = [
  { event: 'data: one\n\n', data: 'one', other: 'data: x\n\n' },
  { event: 'data:one\r\n\r\n', data: 'one', other: 'data:x\r\n\r\n' },
  { event: 'data:  one\r\r', data: ' one', other: 'data: x\r\r' },
  { event: '\ufeffdata: one\n\n', data: 'one', other: '\ufeffdata: x\n\n' },
  { event: 'id: 1\ndata: one\nevent: y\n\n', data: 'one', other: 'id: 1\ndata: x\nevent: y\n\n' },
  { event: 'data: one\ndata: two\n\n', data: 'one\ntwo', lines: 2, other: 'data: x\ndata: x\n\n' },
  {
    event: 'data: one\r\nid: 1\r\ndata: two\r\n\r\n',
    data: 'one\ntwo',
    lines: 2,
    other: 'data: x\r\ndata: x\r\nid: 1\r\n\r\n',
  },
  { event: 'data\n\n', data: '', other: 'data:x\n\n' },
  { event: 'data:\ndata\ndata: é\n\n', data: '\n\né', lines: 3, other: 'data:x\ndata:x\ndata:x\n\n' },
  { event: 'data: not ended', data: 'not ended', other: 'data: x' },
  { event: ': data: one\n\n', data: undefined },
  { event: 'Data: one\ndatabase: two\n data: three\n\n', data: undefined },
  { event: 'event: data\n\n', data: undefined },
  { event: '\n', data: undefined },
  { event: '', data: undefined },
];

t.test('the data of an event is what its reader gets, and can be replaced', async (t) => {
  for (const { event, data, lines = 1, other } of cases) {
    const found = eventDataOf(Buffer.from(event));
    t.equal(found && String(found.data), data, JSON.stringify(event));
    if (!found) continue;
    t.equal(found.lines, lines);
    const replaced = found.withData(Buffer.from(Array(lines).fill('x').join('\n')));
    t.equal(String(replaced), other);
    t.equal(String(eventDataOf(replaced)?.data), Array(lines).fill('x').join('\n'));
  }
});

t.test('an event with its own data stays as it is where its lines stand together', async (t) => {
  for (const end of ['\n', '\r', '\r\n']) {
    const event = Buffer.from(`id: 7${end}data: {${end}data:  "é": 1${end}data: }${end}event: x${end}${end}`);
    const found = eventDataOf(event);
    t.same(found?.withData(found.data), event, JSON.stringify(end));
  }
});
