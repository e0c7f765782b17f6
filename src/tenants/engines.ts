import { suggestion } from '../config/checks/mistakes.ts';
import type { Mistake } from '../config/load.ts';
import type { TenantConfig } from '../config/schema.ts';
import { createEngine, type DetectorEngine } from '../inspect/match/engine.ts';
import type { Detector } from '../inspect/patterns/detector.ts';
import { loadDetectors } from '../inspect/patterns/load.ts';
import { OwnWordError, ownHost, ownIds, ownMarker } from '../inspect/patterns/own-detectors.ts';
import { joinEngines } from '../inspect/split/joined-engine.ts';
import { kept } from '../util/kept.ts';
import { lazily } from '../util/lazily.ts';
import { packageFile } from '../util/program-files.ts';
import { RecentMap } from '../util/recent-map.ts';
import { type AddedDetectors, detectorsOf, takenIds } from './added-detectors.ts';

/*
 * Chooses the engine that reads a tenant's calls. Nearly all tenants use the common engine. The engines of
 * the others share its tables: they leave out or change detectors, and a small engine finds the tenant's own
 * hosts and markers.
 */

const ownDetectors = packageFile('config/detectors');

export interface EngineSettings extends Pick<TenantConfig, 'internal' | 'detectors'> {
  /** What the operator adds to the detectors of the package. */
  readonly added?: AddedDetectors | undefined;
}

export interface Engines {
  /** The engine for tenants without settings of their own, where nothing is added. */
  readonly common: DetectorEngine;
  /** All detectors that come with the gateway. */
  readonly detectors: readonly Detector[];
  /** Returns these detectors, and those that are added. */
  detectorsWith(added: AddedDetectors | undefined): readonly Detector[];
  /** Returns the ids of all detectors, with those of tenants' own hosts and markers. */
  idsWith(added: AddedDetectors | undefined): readonly string[];
  /** Returns the settings of tenants that want nothing else. */
  bare(added: AddedDetectors | undefined): EngineSettings;
  /**
   * Returns the engine of these settings, the same for equal ones. Throws `OwnWordError` at a host or marker
   * that it cannot search for.
   */
  of(settings: EngineSettings): DetectorEngine;
  /** Returns the settings that an engine was made with; undefined for an engine from elsewhere. */
  settingsOf(engine: DetectorEngine): EngineSettings | undefined;
  /** Returns a mistake for each added detector whose id is taken, with both files. */
  takenIn(added: AddedDetectors): readonly Mistake[];
  /** Returns the mistakes in the settings, each with its path within the tenant. */
  mistakesIn(settings: EngineSettings): readonly Mistake[];
  /** Forgets all engines but the common one and those of these settings. */
  keepOnly(settings: Iterable<EngineSettings>): void;
}

/** The gateway's detectors stay the same while it runs: reading and planning them takes a second. */
const shipped = lazily(() => planned(loadDetectors(ownDetectors, 'detectors'), 'words'));

/**
 * Returns engines with the detectors that come with the gateway. At most `enginesMax` of tenants are kept; for
 * a process that calls `keepOnly`, that is no bound.
 */
export const loadEngines = (enginesMax = Number.POSITIVE_INFINITY): Engines =>
  enginesOf(shipped(), enginesMax);

export const createEngines = (detectors: readonly Detector[], enginesMax?: number): Engines =>
  enginesOf(planned(detectors), enginesMax);

/** Detectors, with the engine that finds all of them. */
interface DetectorSet {
  readonly detectors: readonly Detector[];
  readonly engine: DetectorEngine;
  readonly ids: ReadonlySet<string>;
  readonly internalIds: readonly string[];
}

const setOf = (detectors: readonly Detector[], engine: DetectorEngine): DetectorSet => ({
  detectors,
  engine,
  ids: new Set([...detectors.map(({ id }) => id), ...ownIds]),
  internalIds: detectors.filter((it) => it.class === 'INTERNAL').map(({ id }) => id),
});

const planned = (detectors: readonly Detector[], keptAs?: string): DetectorSet =>
  setOf(detectors, createEngine(detectors, ownIds, keptAs));

/**
 * Adds detectors to a set. They have an engine of their own beside that of the package, whose tables take a
 * second to make.
 */
function withAdded({ detectors, engine, ids }: DetectorSet, added: AddedDetectors): DetectorSet {
  const more = detectorsOf(added);
  const knowingMore = engine.besides(more.map(({ id }) => id));
  return setOf([...detectors, ...more], joinEngines(knowingMore, createEngine(more, [...ids])));
}

/** Sets that are kept: the one in force, and the one that a reload prepares. */
const setsMax = 2;

function enginesOf(shipped: DetectorSet, enginesMax = Number.POSITIVE_INFINITY): Engines {
  const { engine: common } = shipped;
  const sets = new RecentMap<string, DetectorSet>(setsMax);
  const engines = new RecentMap<string, DetectorEngine>(enginesMax);
  const madeOf = new WeakMap([[common, noSettings]]);

  const setWith = (added: AddedDetectors | undefined): DetectorSet =>
    added === undefined ? shipped : kept(sets, added.digest, () => withAdded(shipped, added));

  function make({ internal, detectors: wanted, added }: EngineSettings): DetectorEngine {
    const { engine: whole, ids, internalIds } = setWith(added);
    const own = [...internal.hosts.map(ownHost), ...internal.markers.map(ownMarker)];
    const engine = own.length > 0 ? joinEngines(whole, createEngine(own, [...ids])) : whole;
    return engine.tuned({
      ...wanted,
      off: internal.builtin ? wanted.off : new Set([...wanted.off, ...internalIds]),
    });
  }

  return {
    common,
    detectors: shipped.detectors,
    detectorsWith: (added) => setWith(added).detectors,
    idsWith: (added) => [...setWith(added).ids],
    bare: (added) => ({ ...noSettings, added }),
    of(settings) {
      const key = keyOf(settings);
      if (key === bareKey) return common;
      const engine = engines.get(key) ?? make(settings);
      engines.set(key, engine);
      const { internal, detectors: tuning, added } = settings;
      if (!madeOf.has(engine)) madeOf.set(engine, { internal, detectors: tuning, added });
      return engine;
    },
    settingsOf: (engine) => madeOf.get(engine),
    takenIn(added) {
      const isTaken = setWith(added)
        .detectors.slice(shipped.detectors.length)
        .some(({ id }) => shipped.ids.has(id));
      return isTaken ? takenIds(added, shipped.ids) : [];
    },
    mistakesIn({ internal, detectors: wanted, added }) {
      const { ids: knownIds } = setWith(added);
      return [
        ...[...wanted.off].flatMap((id, at) => unknownId(id, knownIds, `detectors.off[${at}]`)),
        ...[...wanted.confidence.keys()].flatMap((id) =>
          unknownId(id, knownIds, `detectors.confidence.${id}`),
        ),
        ...internal.hosts.flatMap((glob, at) => ownWordMistake(ownHost, glob, `internal.hosts[${at}]`)),
        ...internal.markers.flatMap((word, at) => ownWordMistake(ownMarker, word, `internal.markers[${at}]`)),
      ];
    },
    keepOnly(settings) {
      const wanted = new Set([...settings].map(keyOf));
      for (const key of engines.keys()) if (!wanted.has(key)) engines.delete(key);
    },
  };
}

const noSettings: EngineSettings = {
  internal: { builtin: true, hosts: [], markers: [] },
  detectors: { off: new Set(), allowSha256: new Set(), confidence: new Map(), publishedExamples: 'ignore' },
};

/** Returns a text that is equal for settings that mean the same. */
const keyOf = ({
  internal,
  detectors: { off, allowSha256, confidence, publishedExamples },
  added,
}: EngineSettings): string =>
  JSON.stringify([
    added?.digest ?? null,
    internal.builtin,
    [...new Set(internal.hosts)].sort(),
    [...new Set(internal.markers)].sort(),
    [...off].sort(),
    [...allowSha256].sort(),
    publishedExamples,
    [...confidence].sort(([a], [b]) => (a < b ? -1 : 1)),
  ]);

const bareKey = keyOf(noSettings);

function unknownId(id: string, known: ReadonlySet<string>, path: string): Mistake[] {
  if (known.has(id)) return [];
  return [{ path, line: undefined, message: `there is no detector "${id}"${suggestion(id, known)}` }];
}

function ownWordMistake(make: (text: string) => Detector, text: string, path: string): Mistake[] {
  try {
    make(text);
    return [];
  } catch (error) {
    if (!(error instanceof OwnWordError)) throw error;
    return [{ path, line: undefined, message: error.message }];
  }
}
