import t from 'tap';
import { foldedName, isSameFolded } from '../../../src/wire/http1/folded-name.ts';

t.test('two names are one where their folded forms are the same text, for each pair of characters', (t) => {
  // The Kelvin sign is a small k in lower case, and the long s stays what it is.
  const chars = [...Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)), '\u212a', '\u017f'];
  const wrong: string[] = [];
  for (const one of chars)
    for (const other of chars) {
      const [a, b] = [`x${one}y`, `x${other}y`];
      if (isSameFolded(a, b) !== (foldedName(a) === foldedName(b))) wrong.push(JSON.stringify([a, b]));
    }
  t.same(wrong, []);
  t.end();
});

t.test('names of two lengths are never one', (t) => {
  t.notOk(isSameFolded('host', 'hosts'));
  t.notOk(isSameFolded('', 'x'));
  t.ok(isSameFolded('X_Hook', 'x-hook'));
  t.end();
});
