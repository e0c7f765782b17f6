import { suggestion } from '../config/checks/mistakes.ts';
import type { Mistake } from '../config/load.ts';
import type { TenantConfig } from '../config/schema.ts';
import { createEngine, type DetectorEngine } from '../inspect/match/engine.ts';
import type { Detector } from '../inspect/patterns/detector.ts';
import { loadDetectors } from '../inspect/patterns/load.ts';
import { OwnWordError, ownHost, ownIds, ownMarker } from '../inspect/patterns/own-detectors.ts';
import { joinEngines } from '../inspect/split/joined-engine.ts';
import { lazily } from '../util/lazily.ts';
import { packageFile } from '../util/program-files.ts';

/*
 * Chooses the engine that reads a tenant's calls. Nearly all tenants use the common engine. The engines of
 * the others share its tables: they leave out or change detectors, and a small engine finds the tenant's own
 * hosts and markers.
 */

const ownDetectors = packageFile('config/detectors');

export type EngineSettings = Pick<TenantConfig, 'internal' | 'detectors'>;

export interface Engines {
  /** The engine for tenants without settings of their own. */
  readonly common: DetectorEngine;
  /** All detectors that come with the gateway. */
  readonly detectors: readonly Detector[];
  /**
   * Returns the engine of these settings, the same for equal ones. Throws `OwnWordError` at a host or marker
   * that it cannot search for.
   */
  of(settings: EngineSettings): DetectorEngine;
  /** Returns the settings that an engine was made with; undefined for an engine from elsewhere. */
  settingsOf(engine: DetectorEngine): EngineSettings | undefined;
  /** Returns the mistakes in the settings, each with its path within the tenant. */
  mistakesIn(settings: EngineSettings): readonly Mistake[];
  /** Forgets all engines but the common one and those of these settings. */
  keepOnly(settings: Iterable<EngineSettings>): void;
}

/** The gateway's detectors stay the same while it runs: reading and planning them takes a second. */
const shipped = lazily(() => planned(loadDetectors(ownDetectors, 'detectors'), 'words'));

/** Returns engines with the detectors that come with the gateway. */
export const loadEngines = (): Engines => enginesOf(shipped());

export const createEngines = (detectors: readonly Detector[]): Engines => enginesOf(planned(detectors));

const planned = (detectors: readonly Detector[], keptAs?: string): Pick<Engines, 'detectors' | 'common'> => ({
  detectors,
  common: createEngine(detectors, ownIds, keptAs),
});

function enginesOf({ detectors, common }: Pick<Engines, 'detectors' | 'common'>): Engines {
  const ids = detectors.map(({ id }) => id);
  const internalIds = detectors.filter((it) => it.class === 'INTERNAL').map(({ id }) => id);
  const knownIds = new Set([...ids, ...ownIds]);
  let engines = new Map<string, DetectorEngine>([[keyOf(noSettings), common]]);
  const madeOf = new WeakMap([[common, noSettings]]);

  function make({ internal, detectors: wanted }: EngineSettings): DetectorEngine {
    const own = [...internal.hosts.map(ownHost), ...internal.markers.map(ownMarker)];
    const engine = own.length > 0 ? joinEngines(common, createEngine(own, ids)) : common;
    return engine.tuned({
      ...wanted,
      off: internal.builtin ? wanted.off : new Set([...wanted.off, ...internalIds]),
    });
  }

  return {
    common,
    detectors,
    of(settings) {
      const key = keyOf(settings);
      const engine = engines.get(key) ?? make(settings);
      engines.set(key, engine);
      const { internal, detectors: tuning } = settings;
      if (!madeOf.has(engine)) madeOf.set(engine, { internal, detectors: tuning });
      return engine;
    },
    settingsOf: (engine) => madeOf.get(engine),
    mistakesIn: ({ internal, detectors: wanted }) => [
      ...[...wanted.off].flatMap((id, at) => unknownId(id, knownIds, `detectors.off[${at}]`)),
      ...[...wanted.confidence.keys()].flatMap((id) => unknownId(id, knownIds, `detectors.confidence.${id}`)),
      ...internal.hosts.flatMap((glob, at) => ownWordMistake(ownHost, glob, `internal.hosts[${at}]`)),
      ...internal.markers.flatMap((word, at) => ownWordMistake(ownMarker, word, `internal.markers[${at}]`)),
    ],
    keepOnly(settings) {
      const wanted = new Set([noSettings, ...settings].map(keyOf));
      engines = new Map([...engines].filter(([key]) => wanted.has(key)));
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
}: EngineSettings): string =>
  JSON.stringify([
    internal.builtin,
    [...new Set(internal.hosts)].sort(),
    [...new Set(internal.markers)].sort(),
    [...off].sort(),
    [...allowSha256].sort(),
    publishedExamples,
    [...confidence].sort(([a], [b]) => (a < b ? -1 : 1)),
  ]);

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
