import type { Files } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { Log } from '../../core/log.ts';
import { namesInFiles } from '../../decision/trace/known-names.ts';
import { type AddedDetectors, parseAddedDetectors } from '../../tenants/added-detectors.ts';
import type { Catalogues } from '../../tenants/catalogues.ts';
import { knownSecretDetectors } from '../../tenants/known-secrets.ts';
import type { MaybePromise } from '../../util/maybe-promise.ts';
import { readDetectorFiles } from '../reload/named-files.ts';
import { type LoadedPolicyFile, loadPolicyFiles } from '../reload/policy-files.ts';

/** A configuration, and the files that it names and was read from. */
export interface Loaded {
  readonly config: Config;
  readonly files: Files;
  readonly detectors: LoadedDetectors;
  /**
   * Reads the policy files, which may use the names of the configuration. Files whose text is as in `before`
   * keep their documents. Throws `ConfigError` with the mistakes of all.
   */
  readPolicies(
    names: NameSources,
    log: Log,
    before: readonly LoadedPolicyFile[],
  ): MaybePromise<readonly LoadedPolicyFile[]>;
}

/** The detectors of files. */
export interface LoadedDetectors {
  /** The detectors; undefined where there are none. */
  readonly added: AddedDetectors | undefined;
  /** The patterns that match no file. */
  readonly unmatched: readonly string[];
}

/** Reads the detectors of files, and makes those of known secrets. Throws `ConfigError` with their mistakes. */
export function loadAddedDetectors(config: Config, files: Files): LoadedDetectors {
  const { texts, unmatched } = readDetectorFiles(files, config);
  const known = knownSecretDetectors(config.knownSecrets);
  return { added: parseAddedDetectors(texts, config.file, known), unmatched };
}

/** Warns of patterns that match no file. */
export function warnOfUnmatched({ unmatched }: LoadedDetectors, log: Pick<Log, 'warn'>): void {
  for (const pattern of unmatched) log.warn({ pattern }, 'no file of detectors matches this pattern');
}

/** What names that policies may use are known from, besides the configuration. */
interface NameSources {
  readonly catalogues: Catalogues;
  /** The ids of tenants that the configuration does not name. */
  readonly registered: ReadonlySet<string>;
  /** The ids of detectors. */
  readonly detectorIds: readonly string[];
}

/** Returns a configuration whose files are read in this thread. Throws the mistakes of detectors. */
export const loadedHere = (config: Config, files: Files): Loaded => ({
  config,
  files,
  detectors: loadAddedDetectors(config, files),
  readPolicies: ({ catalogues, registered, detectorIds }, log) =>
    loadPolicyFiles(config, namesInFiles(config, catalogues, detectorIds, registered), log, files),
});
