import { createEngine } from '../src/inspect/match/engine.ts';
import { createMatcher } from '../src/inspect/match/matcher.ts';
import { loadDetectors } from '../src/inspect/patterns/load.ts';

/*
 * How fast are matcher and engine? Prints the best of many short interleaved rounds, which is what a shared machine lets one trust, and
 * beside it a plain byte-wise Aho-Corasick on the same words, so that figures of different machines can be compared as ratios.
 *
 *   node bench/scan.ts [rounds]
 */

const rounds = Number(process.argv[2] ?? 40);
const bytesPerRound = 1 << 20;
const limits = { matchesMax: 1000, isOver: () => false };

const detectors = loadDetectors(new URL('../config/detectors', import.meta.url).pathname);
const words = [...new Set(detectors.flatMap(({ anchors, keywords }) => [...anchors, ...keywords]))]
  .map((word) => word.toLowerCase())
  .filter((word) => word.length > 1);
const engine = createEngine(detectors);
const matcher = createMatcher(words);
const automaton = createAhoCorasick(words);
let hits = 0;

const contenders: Readonly<Record<string, (bytes: Buffer) => void>> = {
  'Aho-Corasick': (bytes) => automaton(bytes),
  matcher: (bytes) => matcher.scan(bytes, () => hits++),
  'engine.find': (bytes) => engine.find(bytes, limits),
};

console.log(`${detectors.length} detectors, ${words.length} words, Node ${process.version}`);
const table = [];
for (const [kind, makeText] of Object.entries({ plain: plainText, mixed: mixedText })) {
  for (const size of [2048, 65_536]) {
    const best = measure(makeText(size));
    const cell = (us: number): string => `${us.toFixed(1)} us, ${Math.round(size / us)} MB/s`;
    table.push({
      text: `${kind}, ${size / 1024} KB`,
      ...Object.fromEntries([...best].map(([name, us]) => [name, cell(us)])),
    });
  }
}
console.table(table);

/** The best time of each contender for one text, in microseconds. */
function measure(text: Buffer): Map<string, number> {
  const best = new Map<string, number>();
  const times = Math.ceil(bytesPerRound / text.length);
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(contenders)) {
      const start = process.hrtime.bigint();
      for (let time = 0; time < times; time++) run(text);
      const us = Number(process.hrtime.bigint() - start) / 1000 / times;
      best.set(name, Math.min(us, best.get(name) ?? Number.POSITIVE_INFINITY));
    }
  }
  return best;
}

/** A call of an agent with harmless words, ended with filling. */
function plainText(size: number): Buffer {
  const vocabulary =
    'model assistant please summarise the quarterly report and list open items for team with dates context window answer return json'.split(
      ' ',
    );
  let text = '{"model":"gpt-x","max_tokens":1024,"messages":[{"role":"user","content":"';
  for (let random = 12_345; text.length < size - 60; ) {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    text += `${vocabulary[(random >>> 16) % vocabulary.length]} `;
  }
  return Buffer.from(`${text.padEnd(size - 4, 'x')}"}]}`);
}

/** Prose and code full of words that make a scanner look twice, and no secret. */
function mixedText(size: number): Buffer {
  const cold = [
    'The quarterly report shows that the team closed forty two open items while the backlog grew slightly.',
    'Please summarise the discussion and list every decision with its owner.',
    "const items = rows.filter(r => r.status === 'open').map(r => r.id);",
    'See https://docs.example.com/guide/retry?page=2 and commit 9f86d081884c7d65.',
    'id 3f2504e0-4f89-41d3-9a0c-0305e82c3301 took 12.4 ms',
  ];
  const hot = [
    'The token budget was exceeded because the tokenizer counts keys twice; never share your password or API key.',
    "if (!user.password || !user.apiKey) throw new Error('missing credentials');",
    'Set the Authorization header to a bearer value; basic auth is disabled. Use curl to test it on Cloudflare or Heroku.',
  ];
  let text = '';
  for (let random = 7; text.length < size; ) {
    random = (Math.imul(random, 1_103_515_245) + 12_345) & 0x7fffffff;
    const sentences = (random >> 8) % 12 === 0 ? hot : cold;
    text += `${sentences[(random >> 12) % sentences.length]} `;
  }
  return Buffer.from(text.slice(0, size));
}

/** The classic: a dense table of transitions, one byte after the other; states that end a word are numbered last. */
function createAhoCorasick(words: readonly string[]): (bytes: Buffer) => void {
  const next = [new Int32Array(256).fill(-1)];
  const fallback = [0];
  const ends = [false];
  for (const word of words) {
    let state = 0;
    for (const byte of Buffer.from(word)) {
      const row = next[state] as Int32Array;
      if ((row[byte] as number) < 0) {
        row[byte] = next.push(new Int32Array(256).fill(-1)) - 1;
        fallback.push(0);
        ends.push(false);
      }
      state = row[byte] as number;
    }
    ends[state] = true;
  }
  const order: number[] = [];
  const queue = [0];
  for (let state = queue.shift(); state !== undefined; state = queue.shift()) {
    order.push(state);
    const row = next[state] as Int32Array;
    for (let byte = 0; byte < 256; byte++) {
      const onFallback = state === 0 ? 0 : ((next[fallback[state] as number] as Int32Array)[byte] as number);
      const to = row[byte] as number;
      if (to < 0) {
        row[byte] = onFallback;
        continue;
      }
      fallback[to] = onFallback;
      ends[to] ||= ends[onFallback] as boolean;
      queue.push(to);
    }
  }
  order.sort((a, b) => Number(ends[a]) - Number(ends[b]));
  const firstEnd = order.findIndex((state) => ends[state]);
  const numberOf = new Uint16Array(order.length);
  order.forEach((state, number) => {
    numberOf[state] = number;
  });
  const lower = Uint8Array.from({ length: 256 }, (_, byte) =>
    byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte,
  );
  const table = new Uint16Array(order.length << 8);
  order.forEach((state, number) => {
    for (let byte = 0; byte < 256; byte++) {
      table[(number << 8) | byte] = numberOf[
        (next[state] as Int32Array)[lower[byte] as number] as number
      ] as number;
    }
  });
  return (bytes) => {
    let state = numberOf[0] as number;
    for (let index = 0; index < bytes.length; index++) {
      state = table[(state << 8) | (bytes[index] as number)] as number;
      if (state >= firstEnd) hits++;
    }
  };
}
