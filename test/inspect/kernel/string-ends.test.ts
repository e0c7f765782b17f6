import t from 'tap';
import { stringEnds } from '../../../src/inspect/kernel/string-ends.ts';

const rule = { far: 4096, long: 1024, countMax: 100 };

const pieceBytes = 65_536;

/** Also where only white space is left of a piece of the kernel, which then does not know. */
function isName(text: string, end: number): boolean {
  const rest = text.slice(end, Math.ceil(end / pieceBytes) * pieceBytes).replace(/^[\0- ]+/, '');
  return rest === '' || rest.startsWith(':');
}

/** The same in a plain loop over the bytes. */
function plainly(text: string): number[] {
  const ends: number[] = [];
  let before = '';
  for (let at = 0; at < text.length && ends.length < rule.countMax; at++) {
    const sign = text[at] as string;
    if (sign <= ' ') continue;
    if (sign === '[' && before === '[') break;
    before = sign;
    if (sign !== '"') continue;
    const start = at;
    for (at += 1; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at += 1;
    const end = at + 1;
    const last = ends.at(-1) ?? 0;
    if (end > text.length) break;
    if (isName(text, end)) continue;
    if (end - last >= rule.far || (end - last >= rule.long && end - start >= rule.long)) ends.push(end);
  }
  return ends;
}

t.test('the kernel finds the ends of strings that a plain loop finds', async (t) => {
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const pieces = ['"', '\\', '\\"', '\\\\', '[', ']', ' ', '\n', ',', ':', 'é', 'word', '"', 'x'.repeat(17)];
  let found = 0;
  for (let round = 0; round < 60; round++) {
    const parts: string[] = [];
    // Few brackets, or an array of arrays ends all of it.
    const pick = (): string => pieces[random(round % 2 === 0 ? 4 : pieces.length)] as string;
    for (let length = 0; length < 150_000; ) {
      const part = random(8) > 0 ? 'x'.repeat(random(600)) : pick().repeat(1 + random(3));
      parts.push(part);
      length += part.length;
    }
    const text = Buffer.from(parts.join('')).toString('latin1');
    const ends = plainly(text);
    found += ends.length;
    t.same(stringEnds(Buffer.from(text, 'latin1'), rule), ends);
  }
  t.ok(found > 500, `${found} ends`);
});

t.test('also where a piece of the kernel ends', async (t) => {
  for (let before = 65_530; before < 65_540; before++)
    for (const end of ['"', '\\""', '\\\\"', '\\\\\\""']) {
      const text = `"${'x'.repeat(before)}${end}, "${'y'.repeat(2000)}"`;
      t.same(stringEnds(Buffer.from(text), rule), plainly(text), `${before} bytes and ${end}`);
    }
  t.same(stringEnds(Buffer.alloc(0), rule), []);
});
