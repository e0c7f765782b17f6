import t from 'tap';
import {
  carriedShare,
  contentFingerprint,
  halfSipHash,
} from '../../../src/inspect/fingerprint/content-fingerprint.ts';

const key = Buffer.alloc(32, 7);
const words = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => `word${((from + at) * 7919) % 100_003}`).join(' ');

t.test('HalfSipHash answers what its reference answers', async (t) => {
  // vectors_hsip32 of https://github.com/veorq/SipHash, for no bytes: a9 35 9f 5b.
  t.equal(halfSipHash(0x03020100, 0x07060504, new Uint32Array()), 0x5b9f35a9);
});

t.test('a fingerprint is a short text, the same for the same content and key', async (t) => {
  for (const text of ['', 'x', 'one two three four', words(0, 5), words(0, 50_000)]) {
    const fingerprint = contentFingerprint(key, text);
    t.match(fingerprint, /^s1\.[\w-]{12}\.[\w-]{0,108}$/);
    t.equal(contentFingerprint(key, text), fingerprint);
    if (text !== '') t.not(contentFingerprint(Buffer.alloc(32, 8), text), fingerprint);
  }
});

t.test('a content is recognised in one that carries a good part of it', async (t) => {
  const fingerprint = contentFingerprint(key, words(0, 2000));
  const cases: readonly [name: string, text: string, least: number, most: number][] = [
    ['all of it', words(0, 2000), 1, 1],
    ['all of it, among other words', `${words(5000, 6000)} ${words(0, 2000)} ${words(7000, 8000)}`, 1, 1],
    ['in other case and punctuation', words(0, 2000).toUpperCase().replaceAll(' ', ',\n'), 1, 1],
    ['half of it', words(0, 1000), 0.25, 0.75],
    ['nothing of it', words(5000, 7000), 0, 0.1],
    ['no words', '', 0, 0],
  ];
  for (const [name, text, least, most] of cases) {
    const share = carriedShare(key, fingerprint, text);
    t.ok(share >= least && share <= most, `${name}: ${share}`);
  }
  t.equal(carriedShare(Buffer.alloc(32, 8), fingerprint, words(0, 2000)) < 0.1, true, 'not with another key');
});

t.test('what is no fingerprint is carried by nothing', async (t) => {
  for (const text of ['', 's1', 's1..', 's2.abc.AAAA', 'x'.repeat(64)])
    t.equal(carriedShare(key, text, 'a b c d e'), 0, text);
});
