import { randomBytes } from 'node:crypto';
import { createShingler } from '../src/inspect/fingerprint/shingles.ts';

/*
 * What it costs to know again what was read: the shingles of a content, and looking for those of a write in a map of those of 64 reads of
 * 64 KB. The best of many short interleaved rounds. Goal: 64 KB in 300 us. Run: node bench/shingles.ts [rounds]
 */

const rounds = Number(process.argv[2] ?? 100);
const sizes = [4096, 65_536, 1 << 20];
const shingler = createShingler(randomBytes(32));

let random = 12_345;
const below = (limit: number): number => {
  random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
  return (random >>> 8) % limit;
};
const syllables =
  'an ber co den el for gra hi in ka lo mer ni on per qua ri sten tur ul ver wa xi yo zen'.split(' ');
const vocabulary = Array.from({ length: 5000 }, () =>
  Array.from({ length: 1 + below(4) }, () => syllables[below(syllables.length)]).join(''),
);
const word = (): string => vocabulary[below(vocabulary.length)] ?? '';

function filled(size: number, part: () => string): Buffer {
  let text = '';
  while (text.length < size) text += part();
  return Buffer.from(text.slice(0, size));
}

const contents: Readonly<Record<string, (size: number) => Buffer>> = {
  prose: (size) => filled(size, () => `${word()}${below(12) === 0 ? '. ' : ' '}`),
  'JSON of records': (size) =>
    filled(size, () =>
      JSON.stringify([{ id: below(1e9), name: word(), mail: `${word()}@${word()}.example`, open: true }]),
    ),
};

const benches = Object.entries(contents).flatMap(([content, make]) =>
  sizes.flatMap((size) => {
    const texts = [make(size)];
    return [
      { content, size, side: 'read', work: () => shingler.ofRead(texts), bestUs: Number.POSITIVE_INFINITY },
      { content, size, side: 'write', work: () => shingler.ofWrite(texts), bestUs: Number.POSITIVE_INFINITY },
    ];
  }),
);

for (let round = 0; round < rounds; round += 1)
  for (const bench of benches) {
    const began = performance.now();
    bench.work();
    bench.bestUs = Math.min(bench.bestUs, (performance.now() - began) * 1000);
  }

console.table(
  benches.map(({ content, size, side, work, bestUs }) => ({
    content: `${content}, ${size / 1024} KB`,
    side,
    us: Math.round(bestUs),
    'MB/s': Math.round(size / bestUs),
    shingles: work().length,
  })),
);

const known = new Map<number, number>();
const read = contents['prose'] ?? (() => Buffer.alloc(0));
for (let content = 0; content < 64; content += 1)
  for (const shingle of shingler.ofRead([read(65_536)])) known.set(shingle, content);
const sent = shingler.ofWrite([read(65_536)]);
let bestUs = Number.POSITIVE_INFINITY;
let found = 0;
for (let round = 0; round < rounds; round += 1) {
  const began = performance.now();
  for (const shingle of sent) if (known.get(shingle) !== undefined) found += 1;
  bestUs = Math.min(bestUs, (performance.now() - began) * 1000);
}
console.log(
  `${sent.length} shingles looked up among ${known.size} (${found} found): ${Math.round(bestUs)} us`,
);
