import { gzipSync } from 'node:zlib';
import t from 'tap';
import { DecodeBudget, onePass } from '../../../../src/inspect/decode/budget.ts';
import { toReadable } from '../../../../src/inspect/decode/packed/readable.ts';
import { isTar, tarEntries } from '../../../../src/inspect/decode/packed/tar.ts';
import { bodyPart, type PartResult, readPart } from '../../../../src/inspect/read-part.ts';
import { engine } from '../../../support/detectors.ts';
import { awsKeyId } from '../../../support/secrets.ts';
import { zipOf } from '../zip-file.ts';

/** An entry of a tar archive (POSIX.1-2024, pax, ustar interchange format), with its size written as it says. */
function entry(name: string, content: Buffer, size = content.length.toString(8).padStart(11, '0')): Buffer {
  const header = Buffer.alloc(512);
  header.write(name);
  header.write(size, 124, 'latin1');
  header.write('ustar\0' + '00', 257);
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

const end = Buffer.alloc(1024);
const tarOf = (...entries: readonly Buffer[]): Buffer => Buffer.concat([...entries, end]);
const read = (body: Buffer): PartResult =>
  readPart(bodyPart(body, 'application/octet-stream', 'files.example.com'), engine, {
    maxDecodedBytes: 8 << 20,
    isOver: () => false,
  });
const kindsIn = (body: Buffer): string[] => [...new Set(read(body).findings.map(({ kind }) => kind))];
const kind = 'aws-access-key-id';
const secret = (): Buffer => Buffer.from(`the key is ${awsKeyId()}`);

t.test('files that are packed in an archive are unpacked', async (t) => {
  const plain = entry('a.txt', Buffer.from('nothing'));
  const packed = {
    'a gzip file, as in a gem': tarOf(plain, entry('data.tar.gz', gzipSync(tarOf(entry('b', secret()))))),
    'a ZIP file': tarOf(plain, entry('a.zip', zipOf([{ name: 'b', content: secret() }]))),
    'a size that GNU tar writes': tarOf(
      plain,
      entry(
        'a.gz',
        gzipSync(Buffer.concat([secret(), Buffer.alloc(400, '\n')])),
        '\x80\0\0\0\0\0\0\0\0\0\0\0',
      ),
    ),
  };
  const ofGnu = packed['a size that GNU tar writes'];
  ofGnu.writeUInt32BE(ofGnu.length - 2048 - 512, 1024 + 124 + 8);
  for (const [name, body] of Object.entries(packed)) {
    t.same(kindsIn(body), [kind], name);
    t.same(kindsIn(gzipSync(body)), [kind], `${name}, packed once more`);
  }
});

t.test('a text in an archive is found where it stands', async (t) => {
  const body = tarOf(entry('a', secret()), entry('a.gz', gzipSync('nothing at all')));
  const { findings } = read(body);
  t.match(findings[0], { kind, start: 512 + 'the key is '.length });
  t.ok(findings.every(({ end }) => end <= 1024));
});

t.test('parts with their lengths before them are unpacked, as a crate is published', async (t) => {
  const sized = (part: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(part.length);
    return Buffer.concat([length, part]);
  };
  const head = sized(Buffer.from('{"name":"a"}'));
  const crate = sized(gzipSync(tarOf(entry('src/lib.rs', secret()))));
  t.same(kindsIn(Buffer.concat([head, crate])), [kind]);
  t.same(kindsIn(Buffer.concat([head, crate, Buffer.from('x')])), [], 'no such parts');
  const many = Array.from({ length: 16 }, () => head);
  t.same(kindsIn(Buffer.concat([...many.slice(1), crate])), [kind]);
  t.same(kindsIn(Buffer.concat([...many, crate])), [], 'more than are looked at');
});

t.test('entries that are none end an archive', async (t) => {
  const first = entry('a', Buffer.from('x'));
  t.same(tarEntries(tarOf(first)), [{ start: 512, end: 513 }]);
  t.same(tarEntries(tarOf(entry('folder', Buffer.alloc(0)), first)), [{ start: 1024, end: 1025 }]);
  t.same(tarEntries(tarOf(first, entry('b', Buffer.from('x'), 'no number'))), [{ start: 512, end: 513 }]);
  t.same(tarEntries(Buffer.concat([first, entry('b', Buffer.from('x'), '00000777777')])).length, 1);
  t.equal(tarEntries(Buffer.concat(Array.from({ length: 1200 }, () => first))).length, 1000);
  t.notOk(isTar(end));
  t.notOk(isTar(Buffer.from('ustar')));
});

t.test('what an archive unpacks to is bounded', async (t) => {
  const body = tarOf(...Array.from({ length: 4 }, () => entry('a.gz', gzipSync(Buffer.alloc(30_000)))));
  const within = (maxDecodedBytes: number) =>
    new DecodeBudget({ maxDecodedBytes, depthMax: 1, isOver: () => false });
  t.match(toReadable(body, onePass()), { names: ['tar', 'gzip'] });
  t.throws(() => toReadable(body, within(100_000)), { message: /more than the limit/ });
});
