import { deflateRawSync } from 'node:zlib';
import t from 'tap';
import { findEncrypted, opaqueKindOf } from '../../../../src/inspect/decode/packed/opaque.ts';
import { decodeViews } from '../../../../src/inspect/decode/views.ts';
import { zipOf } from '../zip-file.ts';

const bounds = { maxDecodedBytes: 1 << 20, depthMax: 3, isOver: () => false };
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const png = latin1(`\x89PNG\r\n\x1a\n\0\0\0\rIHDR${'\x07'.repeat(600)}`);
const secret = 'my secret is out';

const files: readonly (readonly [string, string | undefined])[] = [
  ['\x89PNG\r\n\x1a\n\0', 'image'],
  ['\xff\xd8\xff\xe0\0\x10JFIF', 'image'],
  ['GIF89a\x01\0\x01\0', 'image'],
  ['RIFF\0\0\0\0WEBPVP8 ', 'image'],
  ['\0\0\0\x1cftypavif\0\0\0\0', 'image'],
  ['\0\0\0\x18ftypmp42\0\0\0\0', 'video'],
  ['\x1aE\xdf\xa3\x01\0', 'video'],
  ['RIFF\0\0\0\0WAVEfmt ', 'audio'],
  ['ID3\x04\0\0', 'audio'],
  ['OggS\0\x02', 'audio'],
  ['wOF2\0\x01\0\0', 'font'],
  ['7z\xbc\xaf\x27\x1c\0\x04', 'archive'],
  ['Rar!\x1a\x07\x01\0', 'archive'],
  ['(\xb5/\xfd\x04\0', 'archive'],
  ['\xfd7zXZ\0\0\x04', 'archive'],
  ['BZh91AY&SY\0\0', 'archive'],
  ['%PDF-1.7\n1 0 obj', 'document'],
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0', 'document'],
  ['Salted__\x01\x02', 'encrypted'],
  ['age-encryption.org/v1\n-> X25519', 'encrypted'],
  ['-----BEGIN PGP MESSAGE-----\n\nhQ', 'encrypted'],
  ['ID3 is a tag for sounds', undefined],
  ['OTTO was here', undefined],
  ['RIFFRAFF WEBP', undefined],
  ['{"a":1}', undefined],
  ['\x89PN', undefined],
  ['-----BEGIN PGP PUBLIC KEY BLOCK-----', undefined],
  ['', undefined],
];

t.test('what nobody can read is told by its first bytes', async (t) => {
  for (const [text, want] of files) t.equal(opaqueKindOf(latin1(text)), want, JSON.stringify(text));
});

const part = (content: Buffer): Buffer =>
  Buffer.concat([
    latin1('--b\r\nContent-Disposition: form-data; name="f"\r\n\r\n'),
    content,
    latin1('\r\n--b--\r\n'),
  ]);
const inJson = (content: Buffer): Buffer => Buffer.from(JSON.stringify({ file: content.toString('base64') }));

t.test('it is found as a body, as a part and as base64', async (t) => {
  for (const [name, body, at] of [
    ['body', png, 0],
    ['part', part(png), part(png).indexOf(png)],
    ['base64', inJson(png), 9],
  ] as const)
    t.match(decodeViews(body, bounds).opaque, [{ kind: 'image', start: at }], name);
  t.same(decodeViews(part(Buffer.from('a text')), bounds).opaque, []);
});

t.test('the places are bounded', async (t) => {
  const many = Buffer.from(JSON.stringify(Array.from({ length: 40 }, () => png.toString('base64'))));
  t.equal(decodeViews(many, bounds).opaque.length, 16);
});

t.test('messages that are encrypted are found inside a text', async (t) => {
  const jwe = (head: object): string =>
    [
      Buffer.from(JSON.stringify(head)).toString('base64url'),
      'x'.repeat(40),
      'y'.repeat(16),
      'z'.repeat(60),
      'w'.repeat(22),
    ].join('.');
  const kindIn = (text: string): string | undefined => findEncrypted(Buffer.from(text))?.kind;
  t.equal(kindIn(`{"m":"-----BEGIN PGP MESSAGE-----\\n"}`), 'encrypted');
  t.equal(kindIn(`{"token":"${jwe({ alg: 'RSA-OAEP', enc: 'A256GCM' })}"}`), 'encrypted');
  t.equal(kindIn(`{"token":"${jwe({ alg: 'HS256', typ: 'JWT' })}"}`), undefined, 'signed, not encrypted');
  t.equal(
    kindIn(`${'eyJ '.repeat(64)}${jwe({ alg: 'dir', enc: 'A256GCM' })}`),
    undefined,
    'behind 64 other beginnings',
  );
});

const names = (body: Buffer): readonly string[] =>
  decodeViews(body, bounds).views.flatMap((view) => view.encodings);
const isRead = (body: Buffer): boolean =>
  decodeViews(body, bounds).views.some((view) => view.bytes.includes(secret));
const doc = { name: 'word/document.xml', content: Buffer.from(`<w:t>${secret}</w:t>`) };

t.test('an archive is read where it can be, and opaque where it cannot', async (t) => {
  for (const [name, zip, read, opaque] of [
    ['deflated', zipOf([doc]), true, false],
    ['stored', zipOf([{ ...doc, method: 0 }]), true, false],
    ['two files', zipOf([{ name: 'a', content: Buffer.from('nothing') }, doc]), true, false],
    ['an archive in an archive', zipOf([{ name: 'a.zip', content: zipOf([doc]) }]), true, false],
    ['a picture in it', zipOf([doc, { name: 'a.png', content: png }]), true, true],
    ['an encrypted entry', zipOf([{ ...doc, flags: 1 }]), false, true],
    ['an unknown method', zipOf([{ ...doc, method: 14 }]), false, true],
    [
      'bytes between entries',
      zipOf([{ name: 'a', content: Buffer.from('b') }, doc], deflateRawSync(secret.repeat(9))),
      true,
      true,
    ],
    ['no directory', zipOf([doc]).subarray(0, 60), false, true],
  ] as const)
    for (const body of [zip, part(zip), inJson(zip)]) {
      t.equal(isRead(body), read, `${name}: read`);
      t.equal(decodeViews(body, bounds).opaque.length > 0, opaque, `${name}: opaque`);
    }
  t.ok(names(inJson(zipOf([doc]))).includes('zip'));
});

t.test('an archive is unpacked within the bounds', async (t) => {
  const bomb = zipOf([{ name: 'a', content: Buffer.alloc(2 << 20, 'a') }]);
  t.match(decodeViews(bomb, bounds).unreadable, /more than the limit/);
  const many = zipOf(
    Array.from({ length: 1001 }, (_, nth) => ({ name: `${nth}`, content: Buffer.from('b'), method: 0 })),
  );
  t.match(decodeViews(many, bounds).opaque, [{ kind: 'archive' }], 'more than 1,000 files');
  const late = decodeViews(zipOf([doc]), { ...bounds, isOver: () => true });
  t.match(late.unreadable, /too long/);
});
