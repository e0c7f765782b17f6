import t from 'tap';
import { EventGate } from '../../src/response/event-gate.ts';
import { EventSplitter, type EventSplitterOptions } from '../../src/response/events.ts';
import type { Answer } from '../../src/wire/http1/answer.ts';

interface Lab {
  readonly gate: EventGate;
  /** What was asked about, in order. */
  readonly asked: string[];
  readonly written: string[];
  readonly flows: { count: number };
  /** Bytes that are kept now. */
  readonly kept: { bytes: number };
  /** Decides about the event that was asked about first. */
  decide(mayComeIn: boolean): Promise<void>;
  drain(): void;
}

/** `decided: undefined`: each event waits for `decide`. */
interface Setup extends Partial<EventSplitterOptions> {
  readonly decided?: boolean;
  readonly isFull?: boolean;
  readonly instead?: string;
  /** Bytes for which there is room. */
  readonly room?: number;
}

function setUp({ decided, isFull, instead, room = 1_000_000, ...options }: Setup = {}): Lab {
  const written: string[] = [];
  const asked: string[] = [];
  const waiting: ((mayComeIn: boolean) => void)[] = [];
  const listeners: (() => void)[] = [];
  const flows = { count: 0 };
  const kept = { bytes: 0 };
  const answer = {
    destroyed: false,
    write: (chunk: Buffer) => {
      written.push(String(chunk));
      return isFull !== true;
    },
    on: (_event: string, listener: () => void) => listeners.push(listener),
  } as unknown as Answer;
  const gate = new EventGate({
    answer,
    splitter: new EventSplitter({ bytesMax: 1000, endsWith: 'empty line', ...options }),
    async read({ bytes }) {
      asked.push(String(bytes));
      const mayComeIn = decided ?? (await new Promise<boolean>((resolve) => waiting.push(resolve)));
      return mayComeIn ? Buffer.from(instead ?? bytes) : undefined;
    },
    keep(bytes) {
      if (bytes > 0 && kept.bytes + bytes > room) return false;
      kept.bytes += bytes;
      return true;
    },
    onCrowded: () => written.push('CROWDED'),
    onFlow: () => {
      flows.count += 1;
    },
    onEnd: () => written.push('END'),
    onRefused: () => written.push('REFUSED'),
  });
  const decide = async (mayComeIn: boolean): Promise<void> => {
    waiting.shift()?.(mayComeIn);
    await turn();
  };
  const drain = (): void => {
    for (const listener of listeners) listener();
  };
  return { gate, asked, written, flows, kept, decide, drain };
}

/** Time for what can be read to be read: the gateway lets others have their turn between two events. */
async function turn(): Promise<void> {
  for (let count = 0; count < 10; count += 1) await new Promise((done) => setImmediate(done));
}

t.test(
  'events are told apart however lines end and however they are cut, and pass as they came',
  async (t) => {
    const ends = ['\n', '\r', '\r\n'];
    for (const end of ends) {
      const events = [
        'data: one',
        `: a comment${end}id: 1${end}data: two${end}data:`,
        'event: x',
        'data: drei ✓',
      ];
      const text = events.map((it) => `${it}${end}${end}`).join('');
      const bytes = Buffer.from(`${text}data: not ended`);
      for (let size = 1; size <= bytes.length; size += 1) {
        const { gate, asked, written } = setUp({ decided: true });
        for (let at = 0; at < bytes.length; at += size) gate.write(bytes.subarray(at, at + size));
        gate.end();
        await turn();
        t.equal(written.join(''), `${bytes}END`, `${JSON.stringify(end)}, ${size} bytes at a time`);
        t.same(
          asked.map((it) => it.trim()).filter((it) => it !== ''),
          [...events, 'data: not ended'],
        );
      }
    }
  },
);

t.test('a clean event goes out although the next one is still being read', async (t) => {
  const { gate, asked, written, decide } = setUp();
  gate.write(Buffer.from('data: 1\n\ndata: 2\n\ndata: 3'));
  t.same(asked, ['data: 1\n\n']);
  t.same(written, [], 'nothing before it was read');
  await decide(true);
  t.same(written, ['data: 1\n\n']);
  t.same(asked, ['data: 1\n\n', 'data: 2\n\n']);
  await decide(false);
  t.same(written, ['data: 1\n\n', 'REFUSED']);
  t.equal(gate.write(Buffer.from('\n\ndata: 4\n\n')), true, 'what follows is dropped');
  gate.end();
  await turn();
  t.same(written, ['data: 1\n\n', 'REFUSED']);
  t.equal(asked.length, 2);
});

t.test('lines are events where the format says so', async (t) => {
  const { gate, written, asked } = setUp({ decided: true, endsWith: 'line' });
  gate.end(Buffer.from('{"a":1}\n{"b":2}\r\n{"c":3}'));
  await turn();
  t.same(asked, ['{"a":1}\n', '{"b":2}\r', '\n{"c":3}']);
  t.equal(written.join(''), '{"a":1}\n{"b":2}\r\n{"c":3}END');
});

t.test('of a long event it is told that it comes in parts', async (t) => {
  const splitter = new EventSplitter({ bytesMax: 10, endsWith: 'empty line' });
  const text = 'data: 1\n\ndata: 23456789012345\n\ndata: 3\n\n';
  const events = [...splitter.push(Buffer.from(text))];
  t.same(
    events.map((it) => [String(it.bytes), it.isPart]),
    [
      ['data: 1\n\n', false],
      ['data: 2345', true],
      ['6789012345', true],
      ['\n\n', true],
      ['data: 3\n\n', false],
    ],
  );
});

t.test('what comes in of an event may be something else', async (t) => {
  const { gate, written } = setUp({ decided: true, instead: 'cut' });
  gate.end(Buffer.from('data: 1\n\ndata: 2\n\n'));
  await turn();
  t.same(written, ['cut', 'cut', 'END']);
});

t.test('an event without an end is read in parts, and no more is kept', async (t) => {
  const { gate, asked, written } = setUp({ decided: true, bytesMax: 100 });
  for (let i = 0; i < 50; i += 1) gate.write(Buffer.alloc(99, 'x'));
  gate.end();
  await turn();
  t.equal(written.join(''), `${'x'.repeat(50 * 99)}END`);
  t.ok(asked.every((it) => it.length <= 100));
});

t.test('whoever sends faster than it is read, or taken, is told to wait', async (t) => {
  const { gate, flows, decide } = setUp({ bytesMax: 1_000_000 });
  t.equal(gate.write(Buffer.from('data: 1\n\n')), true);
  t.equal(gate.write(Buffer.alloc(100_000, 'data: x\n\n')), false);
  t.equal(flows.count, 0);
  for (let i = 0; i < 20_000 && flows.count === 0; i += 1) await decide(true);
  t.equal(flows.count, 1);

  const slow = setUp({ decided: true, isFull: true });
  t.equal(slow.gate.write(Buffer.from('data: 1\n\n')), true);
  await turn();
  t.equal(slow.gate.write(Buffer.from('data: 2\n\n')), false, 'the agent does not read');
  slow.drain();
  t.equal(slow.gate.write(Buffer.from('data: 3')), true);
});

t.test('empty lines that come together are asked about once', async (t) => {
  const run = '\n'.repeat(500);
  for (const endsWith of ['empty line', 'line'] as const) {
    const { gate, asked, written } = setUp({ decided: true, endsWith });
    gate.write(Buffer.from(`${run}data: one\n\n\r\n\r\n`));
    gate.write(Buffer.from('\ndata: two\n\n'));
    gate.end();
    await turn();
    t.equal(asked[0], run);
    t.ok(asked.length <= 6, `${asked.length} events`);
    t.equal(written.join(''), `${run}data: one\n\n\r\n\r\n\ndata: two\n\nEND`);
  }
  const { gate, asked, written } = setUp({ decided: true, bytesMax: 100 });
  gate.write(Buffer.from(`${run}data: one\n\n`));
  await turn();
  t.equal(asked.at(-1), 'data: one\n\n', 'a run that is too long ends with a line');
  t.equal(written.join(''), `${run}data: one\n\n`);
});

t.test('an event for which there is no room ends the stream', async (t) => {
  const { gate, written, asked, kept } = setUp({ decided: true, bytesMax: 1_000_000, room: 100_000 });
  const chunk = Buffer.alloc(50_000, 'x');
  for (let count = 0; count < 3; count += 1) gate.write(chunk);
  t.equal(kept.bytes, 150_000 - 65_536, 'what is beyond a small part counts');
  gate.write(chunk);
  await turn();
  t.same(written, ['CROWDED', 'REFUSED']);
  gate.write(Buffer.from('\n\n'));
  gate.close();
  await turn();
  t.same(asked, []);
  t.equal(kept.bytes, 0);
});

t.test('what was kept of an event is given back once it was read', async (t) => {
  const { gate, asked, kept } = setUp({ decided: true, bytesMax: 1_000_000 });
  gate.write(Buffer.alloc(100_000, 'x'));
  t.equal(kept.bytes, 100_000 - 65_536);
  gate.write(Buffer.from('\n\n'));
  await turn();
  gate.write(Buffer.from('small'));
  t.equal(asked.length, 1);
  t.equal(kept.bytes, 0);
});
