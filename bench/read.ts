/*
 * What does reading a call cost? The inspection stage with all detectors, over real content (texts of installed packages, other ones for every seed),
 * and over bodies in which nothing is: JSON of words, prose and code, and a body of near-misses, which is the first example of each detector
 * spoilt. Prints the best of many short interleaved rounds, which is what a shared machine lets one trust; the ratios are those of one run.
 *
 *   node bench/read.ts [rounds] [seed]
 */

import { validateConfig } from '../src/config/load.ts';
import type { TenantConfig } from '../src/config/schema.ts';
import { type AdmittedCall, noHead } from '../src/core/call.ts';
import { inspect } from '../src/decision/stages/inspect.ts';
import { createEngine } from '../src/inspect/match/engine.ts';
import { loadDetectors } from '../src/inspect/patterns/load.ts';
import { compilePolicies } from '../src/policy/index.ts';
import { callOf } from '../test/support/call.ts';
import { examplesOf } from '../test/support/examples.ts';
import { injections } from '../test/support/injections.ts';
import { meanings } from '../test/support/meanings.ts';
import { expandSample } from '../test/support/samples.ts';
import { realBodies } from './score/real-texts.ts';

const rounds = Number(process.argv[2] ?? 100);
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 2 ** 32));
/** Few: a round that nobody interrupts is the one that counts. */
const bytesPerRound = 1 << 16;
const sizes = [2048, 65_536, 262_144];
/** Bodies of real content of one size; no two are the same. */
const realBytesPerSize = 1 << 20;
const nearMissGoal = 3;

const detectors = loadDetectors(new URL('../config/detectors', import.meta.url).pathname);
const engine = createEngine(detectors);
const page = { rules: compilePolicies([]), engine };
const config = validateConfig({ tenants: [{ id: 'bench' }] }, { file: undefined, env: {} });
const tenant = config.tenants.get('bench') ?? config.defaultTenant('bench');
const stage = inspect({
  policies: { rulesFor: () => page, lastKnown: () => page },
  clock: () => performance.now(),
  injections,
  meanings,
});

const isClean = (text: string): boolean =>
  engine.find(Buffer.from(text), { matchesMax: 1, isOver: () => false }).matches.length === 0;

const vocabulary =
  'model assistant please summarise the quarterly report and list open items for every team with their dates and context'.split(
    ' ',
  );

const prose = [
  'The quarterly report shows that the team closed forty two open items while the backlog grew slightly.',
  'Please summarise the discussion and list every decision with its owner.',
  "const items = rows.filter(r => r.status === 'open').map(r => r.id);",
  'See https://docs.example.com/guide/retry?page=2 and commit 9f86d081884c7d65.',
  "if (!response.ok) throw new Error('the server answered ' + response.status);",
  '| build | 1.24.3 | passed | 2026-03-04T12:00:00Z |',
];

/** What counts beside others makes findings of a body in which all of it stands. */
const ownDetectors = detectors.filter(
  ({ needs, near, role }) => needs.length + near.length === 0 && role !== 'person' && role !== 'clinical',
);

/** The first example of each detector with its last letter or digit changed, and with its last ones missing, where that is none any more. */
const nearMisses = ownDetectors.flatMap((detector) => {
  const text = expandSample(examplesOf(detector).match[0] ?? '');
  const spoilt = text.replace(/[0-9A-Za-z](?=[^0-9A-Za-z]*$)/, (last) => (last === '7' ? '3' : '7'));
  return [spoilt, text.slice(0, Math.ceil(text.length * 0.7))].filter(isClean);
});

const contents: Readonly<Record<string, readonly string[]>> = {
  'clean JSON': vocabulary,
  'prose and code': prose,
  'near-misses': nearMisses,
};

/** What is looked at again with each further part: a word beside one may make it what it was not. */
const neighbourhoodLength = 512;

/** A message of an agent, filled up to the size with parts; a sentence stands in place of what would be found there. */
function bodyOf(parts: readonly string[], separator: string, size: number): Buffer {
  let content = '';
  // What is read, while the content has its escapes.
  let plain = '';
  for (let random = 12_345; content.length < size; ) {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    const part = `${parts[(random >>> 8) % parts.length]}${separator}`;
    const isKept = separator === ' ' || isClean(plain.slice(-neighbourhoodLength) + part);
    const kept = isKept ? part : `${prose[random % prose.length]} `;
    plain += kept;
    content += JSON.stringify(kept).slice(1, -1);
  }
  const head = '{"model":"gpt-x","max_tokens":1024,"messages":[{"role":"user","content":"';
  return Buffer.from(`${head}${content.slice(0, size - head.length - 4).replace(/\\+$/, '')}"}]}`);
}

const identity = {
  keyId: 'bench',
  keyPrefix: 'iv_live_0000',
  tenantId: 'bench',
  envName: 'default',
  agentId: 'bench',
  agentName: 'bench',
  ownAgent: { agentId: 'bench', name: 'bench', runtimeType: null },
  permissions: new Set<string>(),
};
/** As on a kept connection. */
const lastHead = noHead();

const callWith = (body: Buffer): AdmittedCall<TenantConfig> =>
  callOf({
    ...{ tenant, identity, entrance: 'forward', key: undefined, url: 'https://api.bench.example/v1/x' },
    headers: ['Host', 'api.bench.example', 'Content-Type', 'application/json'],
    ...{ body, contentType: 'application/json', lastHead },
  });

interface Bench {
  readonly content: string;
  readonly size: number;
  readonly bodies: readonly Buffer[];
  bestUs: number;
}

const repeated = (body: Buffer): readonly Buffer[] =>
  Array.from({ length: Math.ceil(bytesPerRound / body.length) }, () => body);

const benches: Bench[] = sizes.flatMap((size) => {
  const bodies = realBodies(realBytesPerSize / size, size, seed + size);
  const made = Object.entries(contents).map(([content, parts]) => {
    const body = bodyOf(parts, content === 'clean JSON' ? ' ' : '\n', size);
    return { content, bodies: repeated(body) };
  });
  return [{ content: 'real', bodies }, ...made].map((it) => ({
    ...it,
    size,
    bestUs: Number.POSITIVE_INFINITY,
  }));
});
for (let round = 0; round < rounds; round += 1)
  for (const bench of benches) {
    const calls = bench.bodies.map(callWith);
    const kilobytes = bench.bodies.reduce((sum, it) => sum + it.length, 0) / 1024;
    const began = performance.now();
    await Promise.all(calls.map((call) => stage.run(call)));
    bench.bestUs = Math.min(bench.bestUs, ((performance.now() - began) * 1000) / kilobytes);
  }

const bestOf = (content: string, size: number): number =>
  benches.find((it) => it.content === content && it.size === size)?.bestUs ?? Number.NaN;

console.log(`${detectors.length} detectors, Node ${process.version}, seed ${seed}`);
console.table(
  benches.map(({ content, size, bestUs }) => ({
    body: `${content}, ${size / 1024} KB`,
    'us per KB': Math.round(bestUs * 10) / 10,
    'of real': Math.round((bestUs / bestOf('real', size)) * 100) / 100,
    goal: content === 'near-misses' ? nearMissGoal : '',
  })),
);
