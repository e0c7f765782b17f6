import t from 'tap';
import { EventStream, eventsIn, type ServerEvent } from '../../src/response/event-stream.ts';

function open(bytesMax = 1_000, room = 1_000) {
  const events: (ServerEvent | 'too long')[] = [];
  let kept = 0;
  const stream = new EventStream({
    bytesMax,
    keep(bytes) {
      if (kept + bytes > room) return false;
      kept += bytes;
      return true;
    },
    onEvent: (event) => events.push(event),
    onTooLong: () => events.push('too long'),
  });
  return { stream, events, kept: () => kept };
}

const event = (data: string, type = ''): ServerEvent => ({ type, data });

const cases: readonly { name: string; text: string; want: readonly ServerEvent[] }[] = [
  { name: 'one line', text: 'data: one\n\n', want: [event('one')] },
  { name: 'without a space', text: 'data:one\n\n', want: [event('one')] },
  { name: 'only one space is none of the value', text: 'data:  one\n\n', want: [event(' one')] },
  { name: 'several lines', text: 'data: one\ndata: two\ndata\n\n', want: [event('one\ntwo\n')] },
  {
    name: 'a type',
    text: 'event: endpoint\ndata: /m\n\ndata: x\n\n',
    want: [event('/m', 'endpoint'), event('x')],
  },
  {
    name: 'line ends of each kind',
    text: 'data: a\r\n\r\ndata: b\r\rdata: c\n\n',
    want: [event('a'), event('b'), event('c')],
  },
  {
    name: 'comments and other fields',
    text: ': hi\nid: 7\nretry: 10\nDATA: no\ndata: yes\n\n',
    want: [event('yes')],
  },
  { name: 'no data is no event', text: 'event: ping\n\n: \n\ndata: x\n\n', want: [event('x')] },
  { name: 'a byte order mark', text: '\ufeffdata: x\n\n\ufeffdata: y\n\n', want: [event('x')] },
  { name: 'characters of several bytes', text: 'data: é✓😀\n\n', want: [event('é✓😀')] },
  { name: 'an event that has not ended', text: 'data: x\n\ndata: y\n', want: [event('x')] },
];

t.test('events are told wherever the stream is cut', (t) => {
  for (const { name, text, want } of cases) {
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size += 1) {
      const { stream, events, kept } = open();
      for (let at = 0; at < bytes.length; at += size) stream.take(bytes.subarray(at, at + size));
      t.same(events, want, `${name}, in pieces of ${size}`);
      stream.end();
      t.equal(kept(), 0, 'what was kept is given back');
    }
    t.same(
      eventsIn(bytes),
      want.map(({ data }) => data),
      name,
    );
  }
  t.end();
});

t.test('of an event that is too long nothing is kept, and the next one is told', (t) => {
  for (const [bytesMax, room] of [
    [20, 1_000],
    [1_000, 20],
  ] as const) {
    const { stream, events, kept } = open(bytesMax, room);
    stream.take(Buffer.from(`data: ${'x'.repeat(30)}`));
    t.equal(kept(), 0);
    stream.take(Buffer.from(`${'x'.repeat(5_000)}\ndata: more\n`));
    stream.take(Buffer.from('\ndata: next\n\n'));
    for (let line = 0; line < 5; line += 1) stream.take(Buffer.from('data: 12345\n'));
    stream.take(Buffer.from('\ndata: last\n\n'));
    t.same(events, ['too long', event('next'), 'too long', event('last')]);
    t.equal(kept(), 0);
  }
  t.end();
});
