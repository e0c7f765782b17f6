import t from 'tap';
import {
  boundaryBytesMax,
  findBoundaryMatches,
  lastBytes,
  lastFieldEnds,
  noFieldEnds,
  readBoundary,
} from '../../src/inspect/message-boundary.ts';
import { engine } from '../support/detectors.ts';
import { awsKeyId } from '../support/secrets.ts';

const bounds = { maxDecodedBytes: 1024 * 1024, isOver: () => false };

t.test('what begins before a boundary and ends behind it is found with its bytes behind it', async (t) => {
  const secret = awsKeyId();
  const [before, text] = [`key ${secret.slice(0, 9)}`, `${secret.slice(9)} and more`].map((it) =>
    Buffer.from(it),
  );
  const { findings } = findBoundaryMatches(before as Buffer, text as Buffer, engine, bounds);
  t.match(findings, [{ class: 'SECRETS', start: 0, end: secret.length - 9 }]);
  t.same(
    findBoundaryMatches(Buffer.alloc(0), Buffer.from(secret), engine, bounds).findings,
    [],
    'one text has no boundary',
  );
});

t.test('what reaches the end of all that is read may go on, and fills the text', async (t) => {
  const secret = awsKeyId();
  const [before, text] = [Buffer.from(secret.slice(0, 9)), Buffer.from(`${secret.slice(9)} and more`)];
  const own = secret.length - 9;
  for (const [reachBytes, end, openFrom] of [
    [own, text.length, 0],
    [own + 1, own, undefined],
  ] as const) {
    const reading = readBoundary(before, text, { engine, bounds, reachBytes });
    t.match(reading, { findings: [{ start: 0, end }], openFrom }, `${reachBytes} bytes read`);
    t.equal(reading.findings.length, 1);
  }
});

t.test('of what has passed no more is remembered than can go on', async (t) => {
  const bytes = (length: number): Buffer => Buffer.alloc(length, 'x');
  t.equal(lastBytes(bytes(400), bytes(50)).length, 450);
  t.equal(lastBytes(bytes(400), bytes(400)).length, boundaryBytesMax);
  t.equal(lastBytes(bytes(400), bytes(100_000)).length, boundaryBytesMax);
  t.equal(lastBytes(bytes(400), bytes(1_000), 100).length, 1_300, 'a finding that may go on');
  t.equal(lastBytes(bytes(400), bytes(100_000), 0).length, 8_192, 'even of that not all');
  const many = JSON.stringify(Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`f${at}`, 'v'])));
  t.equal(lastFieldEnds(noFieldEnds, Buffer.from(many)).size, 64);
});
