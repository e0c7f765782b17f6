import t from 'tap';
import { longStringPlaces, stringEnds } from '../../../src/inspect/kernel/string-ends.ts';

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

const pieces = ['"', '\\', '\\"', '\\\\', '[', ']', ' ', '\n', ',', ':', 'é', 'word', '"', 'x'.repeat(17)];
const escapes = ['\\n', '\\u00e9', '\\u12', '\\x', '\\/', '"', '"'];

/** Texts of 150 KB in which what strings are made of stands in any order. */
function* randomTexts(rounds: number, further: readonly string[] = []): Generator<string> {
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const all = [...pieces, ...further];
  for (let round = 0; round < rounds; round++) {
    const parts: string[] = [];
    // Few brackets, or an array of arrays ends all of it.
    const pick = (): string => all[random(round % 2 === 0 ? 4 : all.length)] as string;
    for (let length = 0; length < 150_000; ) {
      const part = random(8) > 0 ? 'x'.repeat(random(600)) : pick().repeat(1 + random(3));
      parts.push(part);
      length += part.length;
    }
    yield Buffer.from(parts.join('')).toString('latin1');
  }
}

t.test('the kernel finds the ends of strings that a plain loop finds', async (t) => {
  let found = 0;
  for (const text of randomTexts(60)) {
    const ends = plainly(text);
    found += ends.length;
    t.same(stringEnds(Buffer.from(text, 'latin1'), rule), ends);
  }
  t.ok(found > 500, `${found} ends`);
});

t.test(
  'the kernel finds the long strings that a pattern finds, and knows which of them JSON allows',
  async (t) => {
    let [found, allowed] = [0, 0];
    for (const text of randomTexts(60, escapes)) {
      const all = Array.from(text.matchAll(/"(?:[^"\\]|\\[\s\S])*"/g)).filter(([it]) => it.length >= 200);
      const placesOf = (some: typeof all): number[] =>
        some.flatMap(({ 0: it, index }) => [index, index + it.length]);
      const bytes = Buffer.from(text, 'latin1');
      t.same(longStringPlaces(bytes, 200, false), placesOf(all));
      const json = all.filter(([it]) => isJson(it));
      t.same(longStringPlaces(bytes, 200, true), placesOf(json));
      found += all.length;
      allowed += json.length;
    }
    t.ok(allowed > 200 && found > allowed + 200, `${found} strings, of which JSON allows ${allowed}`);
  },
);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

t.test('also where a piece of the kernel ends', async (t) => {
  for (let before = 65_530; before < 65_540; before++)
    for (const end of ['"', '\\""', '\\\\"', '\\\\\\""']) {
      const text = `"${'x'.repeat(before)}${end}, "${'y'.repeat(2000)}"`;
      t.same(stringEnds(Buffer.from(text), rule), plainly(text), `${before} bytes and ${end}`);
    }
  t.same(stringEnds(Buffer.alloc(0), rule), []);
});
