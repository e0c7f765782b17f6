import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from '../util/program-files.ts';
import { type Assets, loadAssets } from './assets.ts';
import { buildPage, builtFromMs, moveInto, newestMsIn } from './build.ts';

/** The place of a page, and of the sources that it is built from. */
export interface PagePlace {
  readonly built: string;
  /** Folder of the sources; undefined in a package, which has a built page only. */
  readonly sources: string | undefined;
}

/** Milliseconds between two looks at the sources; below, before a failed build is tried again. */
const lookMs = 1_000;
const retryMs = 5_000;

/** Returns the place of the page in a package. A package that has the sources is a checkout. */
export function placeOfPage(folder = packageFolder): PagePlace {
  const sources = join(folder, 'src/console/page');
  const built = join(folder, 'dist/console/page');
  return { built, sources: existsSync(join(sources, 'vite.config.ts')) ? sources : undefined };
}

/** Returns a source of the console's page, which is built where that is needed. */
export function createPageSource({ built, sources }: PagePlace) {
  let assets: Assets | undefined;
  /** The time of the sources that `assets` were built from. */
  let fromMs = 0;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let failed: { readonly error: unknown; readonly fromMs: number; readonly atMs: number } | undefined;
  let working: Promise<Assets> | undefined;

  async function take(folder: string, ofMs: number): Promise<Assets> {
    assets = await loadAssets(folder);
    fromMs = ofMs;
    return assets;
  }

  async function refresh(nowMs: number): Promise<Assets> {
    if (sources === undefined) return assets ?? take(built, 0);
    const newestMs = await newestMsIn(sources);
    if (assets && newestMs <= fromMs) return assets;
    const builtMs = await builtFromMs(built);
    if (builtMs !== undefined && newestMs <= builtMs) return take(built, builtMs);
    if (failed && failed.fromMs === newestMs && nowMs - failed.atMs < retryMs) throw failed.error;
    try {
      const folder = await buildPage(sources, built);
      const taken = await take(folder, newestMs);
      await moveInto(folder, built);
      failed = undefined;
      return taken;
    } catch (error) {
      failed = { error, fromMs: newestMs, atMs: nowMs };
      throw error;
    }
  }

  return {
    /** Returns the page as it was last; undefined before the first time. */
    get last() {
      return assets;
    },
    /** Returns the page, built if it is missing or its sources changed. Callers at the same time share it. */
    current(nowMs: number) {
      if (working !== undefined) return working;
      if (assets && nowMs - lookedAtMs < lookMs) return Promise.resolve(assets);
      lookedAtMs = nowMs;
      working = refresh(nowMs).finally(() => {
        working = undefined;
      });
      return working;
    },
  };
}
