import t from 'tap';
import { bodyPart, readPart } from '../../../src/inspect/read-part.ts';
import { engine } from '../../support/detectors.ts';

const bounds = { maxDecodedBytes: 1 << 20, isOver: () => false };

/** Passwords that differ in their beginnings, in their ends and in their lengths; some begin as others do. */
const passwordsOf = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `xK${at % 5}${'v7Qz#rT9wLp'.slice(0, 5 + (at % 7))}${at * 7919}!`);

const startsIn = (text: string): readonly number[] =>
  readPart(bodyPart(Buffer.from(text), 'text/plain', 'api.example.com'), engine, bounds)
    .findings.map(({ start }) => start)
    .sort((a, b) => a - b);

t.test('values are found again wherever they stand, few as many', async (t) => {
  for (const count of [1, 2, 6, 7, 8, 30])
    for (let shift = 0; shift < 5; shift += 1) {
      const passwords = passwordsOf(count);
      const told = passwords.map((it) => `password: ${it}\n`).join('');
      const again = passwords.map((it, at) => `${'.'.repeat(1 + ((at + shift) % 4))} ${it} `).join('');
      const text = `${told}${again}`;
      const wanted = passwords.flatMap((it) => [text.indexOf(it), text.lastIndexOf(it)]);
      t.strictSame(
        startsIn(text),
        wanted.sort((a, b) => a - b),
        `${count} values, ${shift} bytes on`,
      );
    }
});

t.test('a mail address shows itself, so places where none is meant do not count for it', async (t) => {
  const text = 'From: ann.keller@acme.com\nMessage-ID: <ann.keller@acme.com>\nCc: <ann.keller@acme.com>\n';
  t.strictSame(startsIn(text), [text.indexOf('ann'), text.lastIndexOf('ann')]);
});
