import t from 'tap';
import { Needles } from '../../../src/inspect/match/needles.ts';

const needles = Needles.of(['Tok_', 'é@', '12', 'überall']);

const texts: { word: number; text: string; at: number }[] = [
  { word: 0, text: 'a tok_', at: 2 },
  { word: 0, text: 'a TOK_', at: 2 },
  { word: 0, text: 'a TOK\x7f', at: -1 },
  { word: 0, text: 'a tok', at: -1 },
  { word: 1, text: 'é@', at: 0 },
  { word: 1, text: 'é`', at: -1 },
  { word: 1, text: 'É@', at: -1 },
  { word: 2, text: '1\x12', at: -1 },
  { word: 3, text: '12 üBERALL', at: 3 },
];

for (const { word, text, at } of texts) {
  t.test(
    `word ${word} ${at < 0 ? 'stands nowhere' : 'stands once'} in ${JSON.stringify(text)}`,
    async (t) => {
      const bytes = Buffer.from(text);
      const places = Array.from({ length: bytes.length + 9 }, (_, place) => place - 4);
      t.same(
        places.filter((place) => needles.standsAt(word, bytes, place)),
        at < 0 ? [] : [at],
      );
    },
  );
}

t.test('knows the bytes of each word, letters in lower case', async (t) => {
  const written = [0, 1, 2, 3].map((word) => Buffer.from(needles.valuesOf(word)).toString());
  t.same(written, ['tok_', 'é@', '12', 'überall']);
  t.throws(() => Needles.of(['ok', 'x']), RangeError);
  t.doesNotThrow(() => Needles.of([]));
});
