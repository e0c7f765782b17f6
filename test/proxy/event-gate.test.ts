import t from 'tap';
import type { Answer } from '../../src/http1/answer.ts';
import { EventGate, type EventGateOptions } from '../../src/proxy/event-gate.ts';

interface Lab {
  readonly gate: EventGate;
  /** What was asked about, in order. */
  readonly asked: string[];
  readonly written: string[];
  readonly flows: { count: number };
  /** Decides about the event that was asked about first. */
  decide(mayComeIn: boolean): Promise<void>;
  drain(): void;
}

/** `decided: undefined`: each event waits for `decide`. */
function setUp(options: Partial<EventGateOptions> & { decided?: boolean; isFull?: boolean } = {}): Lab {
  const written: string[] = [];
  const asked: string[] = [];
  const waiting: ((mayComeIn: boolean) => void)[] = [];
  const listeners: (() => void)[] = [];
  const flows = { count: 0 };
  const answer = {
    destroyed: false,
    write: (chunk: Buffer) => {
      written.push(String(chunk));
      return options.isFull !== true;
    },
    end: () => written.push('END'),
    on: (_event: string, listener: () => void) => listeners.push(listener),
  } as unknown as Answer;
  const gate = new EventGate({
    answer,
    bytesMax: 1000,
    endsWith: 'empty line',
    read: (event) => {
      asked.push(String(event));
      if (options.decided !== undefined) return Promise.resolve(options.decided);
      return new Promise((resolve) => waiting.push(resolve));
    },
    onFlow: () => {
      flows.count += 1;
    },
    onRefused: () => written.push('REFUSED'),
    ...options,
  });
  const decide = async (mayComeIn: boolean): Promise<void> => {
    waiting.shift()?.(mayComeIn);
    await turn();
  };
  const drain = (): void => {
    for (const listener of listeners) listener();
  };
  return { gate, asked, written, flows, decide, drain };
}

const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

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
