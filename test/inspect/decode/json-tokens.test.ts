import t from 'tap';
import { JsonTokens } from '../../../src/inspect/decode/json-tokens.ts';
import { createLocator } from '../../../src/inspect/redact/locate.ts';

/** Where the string that begins a text ends, by a plain loop. */
function plainEnd(text: string): number {
  for (let at = 1; at < text.length; at += 1) {
    if (text[at] === '"') return at + 1;
    if (text[at] === '\\') at += 1;
  }
  return text.length;
}

t.test('strings of any length end where a plain loop finds their ends', async (t) => {
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const parts = ['\\"', '\\\\', '\\', 'é', 'x', 'x'.repeat(61), 'x'.repeat(200), '"'];
  for (let round = 0; round < 3000; round += 1) {
    const inner = Array.from({ length: random(12) }, () => parts[random(parts.length)] as string).join('');
    const text = Buffer.from(`"${inner}${round % 3 === 0 ? '' : '",1]'}`).toString('latin1');
    const tokens = new JsonTokens(Buffer.from(text, 'latin1'));
    if (tokens.next() !== 'string' || tokens.end !== plainEnd(text)) t.fail(text);
  }
});

t.test('a place has the same name, however much of the text was asked for before', async (t) => {
  const bytes = Buffer.from(
    '{"a": [1, {"b":"x\\"y"}, [ ]], "long" : "z", "c": {"d": [true , {"e": null}]}, "f": [[2]]} {"g": 3',
  );
  const all = createLocator('json', bytes);
  all(bytes.length);
  for (let offset = 0; offset < bytes.length; offset += 1)
    t.equal(createLocator('json', bytes)(offset), all(offset), String(offset));
});
