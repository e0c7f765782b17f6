import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bodyFormat } from '../../src/inspect/decode/body-format.ts';
import { DecodeBudget } from '../../src/inspect/decode/budget.ts';
import { blockDecoders, escapeDecoders } from '../../src/inspect/decode/decoders.ts';
import { findEncodedRuns } from '../../src/inspect/decode/runs.ts';
import { separator } from '../../src/inspect/decode/separator.ts';
import { readTables } from '../../src/inspect/decode/tables.ts';
import { decoderTable, unescapeText } from '../../src/inspect/decode/unescape.ts';
import { decodeViews } from '../../src/inspect/decode/views.ts';
import { outlineOf } from '../../src/inspect/kernel/outline.ts';
import { createEngine } from '../../src/inspect/match/engine.ts';
import { loadDetectors } from '../../src/inspect/patterns/load.ts';
import { textOf } from './ask.ts';
import { type Case, isPositive } from './corpus.ts';
import { realBodies } from './real-texts.ts';

/*
 * What each family of detectors and each decoder costs, and what it brings. The cost is that of real content: of a family what the search takes
 * longer with it, of a decoder what it takes by itself. A point is a hundredth of the bodies of the corpus in which something is to be found,
 * and a body counts for what alone finds it.
 */

const folder = new URL('../../config/detectors/', import.meta.url).pathname;
const limits = { matchesMax: 1000, isOver: (): boolean => false };
const bounds = { maxDecodedBytes: 8 << 20, depthMax: 3, isOver: limits.isOver };
const rounds = 9;
const bodiesMax = 24;
const bodyBytes = 65_536;

interface Price {
  readonly name: string;
  readonly usPerKb: number;
  readonly points: number;
}

export interface PriceList {
  readonly families: readonly Price[];
  readonly decoders: readonly Price[];
  /** All detectors, in us per KB. */
  readonly search: number;
}

export function pricesOf(cases: readonly Case[], seed: number): PriceList {
  const texts = realBodies(bodiesMax, bodyBytes, seed).map(canonicalOf);
  const kilobytes = texts.reduce((sum, it) => sum + it.length, 0) / 1024;
  const worth = worthOf(cases);
  const outlines = texts.map((it) => outlineOf(it));
  const detectors = loadDetectors(folder);
  const searchWithout = (ids: ReadonlySet<string>): (() => void) => {
    const engine = createEngine(detectors.filter(({ id }) => !ids.has(id)));
    return () => {
      for (const [at, text] of texts.entries()) engine.find(text, limits, outlines[at]);
    };
  };
  const searchAll = searchWithout(new Set());
  for (let round = 0; round < rounds; round++) searchAll();
  const families = [...familiesIn(folder)].map(([name, ids]) => {
    const [all, others] = leastMs(searchAll, searchWithout(ids)) as [number, number];
    const points = worth.families.get(name) ?? 0;
    return { name, usPerKb: (1000 * (all - others)) / kilobytes, points };
  });
  const decoders = [...decoderRuns(texts)].map(([name, run]) => ({
    name,
    usPerKb: (1000 * (leastMs(run)[0] as number)) / kilobytes,
    points: worth.decoders.get(name) ?? 0,
  }));
  return { families, decoders, search: (1000 * (leastMs(searchAll)[0] as number)) / kilobytes };
}

/** The fastest of some rounds of each, in turns: on a shared machine the others tell of others. Kernels count CPU in steps of 4 ms. */
function leastMs(...runs: readonly (() => void)[]): readonly number[] {
  const least = runs.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < rounds; round++)
    for (const [at, run] of runs.entries()) {
      const startedMs = performance.now();
      run();
      least[at] = Math.min(least[at] as number, performance.now() - startedMs);
    }
  return least;
}

/** A body as it is searched: JSON without the escapes of its strings. */
function canonicalOf(body: Buffer): Buffer {
  const { views } = decodeViews(body, { ...bounds, isJson: true });
  return (views.find((it) => !it.isSuperseded) ?? { bytes: body }).bytes;
}

/** The ids of the detectors of each file. */
function familiesIn(dir: string): ReadonlyMap<string, ReadonlySet<string>> {
  const files = readdirSync(dir).filter((name) => name.endsWith('.yaml'));
  const idsIn = (file: string): string[] =>
    [...readFileSync(join(dir, file), 'utf8').matchAll(/^id: (\S+)$/gm)].map(([, id = '']) => id);
  return new Map(files.sort().map((file) => [file.replace('.yaml', ''), new Set(idsIn(file))]));
}

/** Each decoder by itself, over all texts. */
function decoderRuns(texts: readonly Buffer[]): ReadonlyMap<string, () => void> {
  const budget = (): DecodeBudget => new DecodeBudget(bounds);
  const encoded = texts.map((bytes) => {
    const outline = outlineOf(bytes);
    const runs = findEncodedRuns(bytes, outline, budget());
    return { bytes, outline, runs, runKinds: runs.reduce((kinds, it) => kinds | it.kinds, 0) };
  });
  const runs = new Map<string, () => void>();
  for (const decoder of escapeDecoders) {
    const table = decoderTable([decoder]);
    runs.set(decoder.name, () => {
      for (const { bytes, outline } of encoded) unescapeText(bytes, table, () => undefined, outline);
    });
  }
  for (const decoder of blockDecoders)
    runs.set(decoder.name, () => {
      for (const text of encoded) {
        if (!decoder.mayHold(text)) continue;
        for (const _ of decoder.find(text, budget()));
      }
    });
  runs.set('tables', () => {
    for (const text of encoded) readTables(text, () => false, separator, budget(), []);
  });
  return runs;
}

interface Worth {
  readonly families: ReadonlyMap<string, number>;
  readonly decoders: ReadonlyMap<string, number>;
}

/** The points that would be lost without a family, or a decoder. */
function worthOf(cases: readonly Case[]): Worth {
  const engine = createEngine(loadDetectors(folder));
  const familyOf = new Map(
    [...familiesIn(folder)].flatMap(([name, ids]) => [...ids].map((id) => [id, name] as const)),
  );
  const lost = { families: new Map<string, number>(), decoders: new Map<string, number>() };
  const positives = cases.filter(isPositive);
  const point = positives.length / 100;
  const add = (to: Map<string, number>, names: Iterable<string>): void => {
    for (const name of names) to.set(name, (to.get(name) ?? 0) + 1 / point);
  };
  for (const { body, expect } of positives) {
    const bytes = Buffer.from(textOf(body) ?? '');
    const wanted = new Set([...(expect.classes ?? []), ...(expect.any_of ?? []).flat()]);
    const { views } = decodeViews(bytes, { ...bounds, isJson: bodyFormat('', bytes) === 'json' });
    const found = views
      .filter((view) => !view.isSuperseded)
      .flatMap((view) => {
        const { matches, hints } = engine.find(view.bytes, limits, view.outline);
        const encodings = view.isTable ? [...view.encodings, 'tables'] : view.encodings;
        return [...matches, ...hints].map(({ detector }) => ({ detector, encodings }));
      })
      .filter(({ detector }) => wanted.has(detector.class));
    if (found.length === 0) continue;
    add(lost.families, inAll(found.map(({ detector }) => [familyOf.get(detector.id) ?? ''])));
    add(lost.decoders, inAll(found.map(({ encodings }) => encodings)));
  }
  return lost;
}

/** The names that stand in each of the lists. */
const inAll = ([first = [], ...others]: readonly (readonly string[])[]): Set<string> =>
  new Set(first.filter((name) => others.every((it) => it.includes(name))));
