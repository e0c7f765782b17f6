import t from 'tap';
import { EventSplitter } from '../../src/response/events.ts';
import type { Handling, Tap, TappedBytes, TappedJudgement } from '../../src/response/tap.ts';
import { TappedAnswer } from '../../src/response/tapped-answer.ts';
import type { Answer } from '../../src/wire/http1/answer.ts';

/** Keeps what is written to it, as an answer on a slow connection would. */
class Wire implements Answer {
  headersSent = false;
  writableEnded = false;
  destroyed = false;
  chunkedEncoding = true;
  isFull = false;
  tellsFields = false;
  readonly log: string[] = [];
  #onClose: () => void = () => {};
  writeHead(status: number, fields: string[] = []): void {
    this.headersSent = true;
    this.log.push(this.tellsFields ? `head ${status} ${fields.join()}` : `head ${status}`);
  }
  flushHeaders(): void {
    this.log.push('flush');
  }
  write(chunk: Buffer): boolean {
    this.log.push(String(chunk));
    return !this.isFull;
  }
  end(chunk?: Buffer): void {
    if (chunk) this.log.push(String(chunk));
    this.log.push('end');
    this.#onClose();
  }
  addTrailers(trailers: [string, string][]): void {
    this.log.push(`trailers ${trailers.join()}`);
  }
  destroy(): void {
    this.destroyed = true;
    this.log.push('destroy');
    this.#onClose();
  }
  on(): void {}
  off(): void {}
  once(_event: 'close', listener: () => void): void {
    this.#onClose = listener;
  }
}

interface Setup {
  readonly handling?: Handling;
  readonly later?: Handling;
  readonly bytesMax?: number;
  readonly room?: number;
  readonly judgement?: TappedJudgement;
  /** A text that was seen before. */
  readonly known?: string;
  readonly tellsFields?: boolean;
}

function setUp({
  handling = 'hold',
  later = handling,
  bytesMax = 100,
  room = 1000,
  judgement = 'pass',
  known,
  tellsFields = false,
}: Setup) {
  const wire = new Wire();
  wire.tellsFields = tellsFields;
  const seen: (Omit<TappedBytes, 'bytes'> & { text: string })[] = [];
  const { promise, resolve } = Promise.withResolvers<TappedJudgement>();
  const kept = { bytes: 0 };
  const heard: string[] = [];
  const tap: Tap = {
    bytesMax,
    handling: (_status, _fields, chunk) => (chunk ? later : handling),
    keep(bytes) {
      if (kept.bytes + bytes > room) return false;
      kept.bytes += bytes;
      return true;
    },
    hear: (bytes) => heard.push(String(bytes)),
    isKnownClean: (bytes) => String(bytes) === known,
    events: {
      coding: '',
      broken: () => wire.log.push('broken'),
      crowded: () => wire.log.push('crowded'),
      splitter: () => new EventSplitter({ bytesMax, endsWith: 'empty line' }),
      admit: ({ bytes }) => Promise.resolve(String(bytes).includes('bad') ? undefined : bytes),
      lastWords: { event: Buffer.from('event: error\n\n') },
    },
    redactedFields: (fields, reasons) => [...fields, 'reasons', reasons.join()],
    seen({ bytes, ...answer }) {
      seen.push({ ...answer, text: String(bytes) });
      return promise;
    },
    refuse: () => wire.log.push('refused'),
  };
  const judge = async (): Promise<void> => {
    resolve(judgement);
    await promise;
    await new Promise((done) => setImmediate(done));
  };
  return { wire, seen, kept, heard, judge, answer: new TappedAnswer(wire, tap) };
}

const chunk = (text: string): Buffer => Buffer.from(text);
const nextTurn = (): Promise<void> => new Promise((done) => setImmediate(done));

t.test('an answer that is only read passes at once, and is seen when it is over', async (t) => {
  const { wire, seen, kept, answer, judge } = setUp({ handling: 'read' });
  answer.writeHead(200, []);
  answer.flushHeaders();
  t.ok(answer.write(chunk('one ')));
  t.strictSame(wire.log, ['head 200', 'flush', 'one ']);
  answer.end(chunk('two'));
  await nextTurn();
  t.match(seen, [{ status: 200, text: 'one two', extent: 'whole' }]);
  await judge();
  t.equal(kept.bytes, 0, 'nothing of it is kept');
});

t.test('who listens hears every chunk, whether or not it is read', async (t) => {
  for (const handling of ['pass', 'read'] as const) {
    const { answer, heard } = setUp({ handling, bytesMax: 3 });
    answer.writeHead(200, []);
    for (const text of ['one', 'two', 'three']) answer.write(chunk(text));
    answer.end(chunk('four'));
    t.strictSame(heard, ['one', 'two', 'three', 'four'], handling);
  }
});

t.test('what is known to be clean is not looked at again, but as a whole', async (t) => {
  const cases: { name: string; write: (answer: TappedAnswer) => void; seen: number }[] = [
    { name: 'the same in one piece', write: (it) => it.end(chunk('known')), seen: 0 },
    { name: 'another one', write: (it) => it.end(chunk('other')), seen: 1 },
    {
      name: 'the same with more behind it',
      write(it) {
        it.write(chunk('known'));
        it.end(chunk(' and more'));
      },
      seen: 1,
    },
    {
      name: 'one that was cut off',
      write(it) {
        it.write(chunk('known'));
        it.destroy();
      },
      seen: 1,
    },
  ];
  for (const { name, write, seen: want } of cases) {
    const { seen, answer, kept, judge } = setUp({ handling: 'read', known: 'known' });
    answer.writeHead(200, []);
    write(answer);
    await nextTurn();
    t.equal(seen.length, want, name);
    await judge();
    t.equal(kept.bytes, 0, 'nothing of it is kept');
  }
});

t.test('of an answer that is only read no more is kept than is read', async (t) => {
  const { wire, seen, answer } = setUp({ handling: 'read', bytesMax: 6 });
  answer.writeHead(200, []);
  for (const text of ['one ', 'two ', 'three ']) answer.write(chunk(text));
  await nextTurn();
  t.match(seen, [{ text: 'one tw', extent: 'cut' }], 'it is seen before it is over');
  answer.end();
  await nextTurn();
  t.equal(seen.length, 1, 'and once');
  t.strictSame(wire.log.at(-1), 'end');
});

t.test('a held answer waits for its judgement, trailers and all', async (t) => {
  const { wire, seen, kept, answer, judge } = setUp({});
  answer.writeHead(200, []);
  answer.flushHeaders();
  t.notOk(answer.headersSent, 'none has gone out: who fails to bring the rest may answer something else');
  answer.write(chunk('one '));
  answer.addTrailers([['x', '1']]);
  answer.end(chunk('two'));
  t.strictSame(wire.log, []);
  t.match(seen, [{ text: 'one two', extent: 'whole' }]);
  await judge();
  t.strictSame(wire.log, ['head 200', 'one ', 'trailers x,1', 'two', 'end']);
  t.equal(kept.bytes, 0);
});

t.test('of a large held answer the rest waits, and follows', async (t) => {
  const { wire, answer, judge } = setUp({ bytesMax: 4 });
  let drained = 0;
  answer.writeHead(200, []);
  t.notOk(answer.write(chunk('one ')), 'the upstream is told to wait');
  answer.on('drain', () => {
    drained += 1;
  });
  answer.write(chunk('two '));
  await judge();
  t.strictSame(wire.log, ['head 200', 'one ', 'two ']);
  t.equal(drained, 1);
  answer.write(chunk('three'));
  answer.end();
  t.strictSame(wire.log.slice(3), ['three', 'end']);
});

t.test('a slow client is waited for after the judgement, too', async (t) => {
  const { wire, answer, judge } = setUp({ bytesMax: 4 });
  wire.isFull = true;
  let drained = 0;
  answer.on('drain', () => {
    drained += 1;
  });
  answer.writeHead(200, []);
  answer.write(chunk('one '));
  await judge();
  t.equal(drained, 0);
});

t.test('of a refused answer nothing goes out, whatever the upstream still sends', async (t) => {
  const { wire, kept, answer, judge } = setUp({ bytesMax: 4, judgement: { refusal: new Error('no') } });
  answer.writeHead(200, []);
  answer.write(chunk('one '));
  await judge();
  answer.write(chunk('two'));
  answer.end(chunk('three'));
  answer.destroy();
  t.strictSame(wire.log, ['refused']);
  t.equal(kept.bytes, 0);
});

t.test('of a redacted answer the redacted beginning goes out, and what follows', async (t) => {
  const cases: {
    name: string;
    write: (answer: TappedAnswer) => void;
    later?: (answer: TappedAnswer) => void;
    bytesMax?: number;
    log: string[];
  }[] = [
    {
      name: 'whole',
      write(it) {
        it.write(chunk('one '));
        it.end(chunk('two'));
      },
      log: ['head 200 etag,W/"1",reasons,why,Content-Length,3', 'cut', 'end'],
    },
    {
      name: 'longer than is read',
      bytesMax: 5,
      write: (it) => it.end(chunk('one two')),
      log: ['head 200 etag,W/"1",reasons,why,Content-Length,5', 'cut', 'wo', 'end'],
    },
    {
      name: 'going on meanwhile',
      bytesMax: 5,
      write: (it) => it.write(chunk('one two')),
      later(it) {
        it.write(chunk(' three'));
        it.end();
      },
      log: ['head 200 etag,W/"1",reasons,why', 'cut', 'wo', ' three', 'end'],
    },
  ];
  for (const { name, write, later, bytesMax = 100, log } of cases) {
    const judgement = { instead: Buffer.from('cut'), reasons: ['why'] };
    const { wire, answer, judge, kept } = setUp({ bytesMax, judgement, tellsFields: true });
    answer.writeHead(200, ['etag', 'W/"1"', 'Content-Length', '7', 'Content-MD5', 'x']);
    write(answer);
    await judge();
    later?.(answer);
    t.strictSame(wire.log, log, name);
    t.equal(kept.bytes, 0);
  }
});

t.test('a stream of events ends with its trailers, but for those that may not be true', async (t) => {
  const { wire, answer } = setUp({ handling: 'events' });
  answer.writeHead(200, ['etag', '"1"']);
  answer.addTrailers([
    ['grpc-status', '0'],
    ['Content-Digest', 'x'],
  ]);
  answer.end(chunk('data: 1\n\n'));
  await nextTurn();
  t.strictSame(wire.log, ['head 200', 'data: 1\n\n', 'trailers grpc-status,0', 'end']);
  const refused = setUp({ handling: 'events' });
  refused.answer.writeHead(200, []);
  refused.answer.addTrailers([['grpc-status', '0']]);
  refused.answer.end(chunk('data: bad\n\n'));
  await nextTurn();
  t.strictSame(refused.wire.log, ['head 200', 'event: error\n\n', 'end']);
});

t.test('what there is no room for is said not to be whole', async (t) => {
  const held = setUp({ room: 5 });
  held.answer.writeHead(200, []);
  held.answer.write(chunk('one '));
  held.answer.write(chunk('two '));
  t.match(held.seen, [{ extent: 'crowded' }]);
  await held.judge();
  t.strictSame(held.wire.log, ['head 200', 'one ', 'two ']);

  const passing = setUp({ handling: 'read', room: 5 });
  passing.answer.writeHead(200, []);
  passing.answer.write(chunk('one '));
  passing.answer.write(chunk('two '));
  await nextTurn();
  t.match(passing.seen, [{ text: 'one ', extent: 'crowded' }]);
});

t.test('an answer that shows itself to be opaque passes unread', async (t) => {
  const { wire, seen, answer } = setUp({ later: 'pass' });
  answer.writeHead(200, []);
  answer.write(chunk('\0\0'));
  answer.end(chunk('\0'));
  t.strictSame(wire.log, ['head 200', '\0\0', '\0', 'end']);
  await nextTurn();
  t.strictSame(seen, []);
});

t.test('an answer that is cut off is not released', async (t) => {
  const { wire, kept, answer, judge } = setUp({});
  answer.writeHead(200, []);
  answer.write(chunk('one '));
  answer.destroy();
  await judge();
  t.strictSame(wire.log, ['destroy']);
  t.equal(kept.bytes, 0);
});
