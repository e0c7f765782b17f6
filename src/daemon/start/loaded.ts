import type { Files } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { Log } from '../../core/log.ts';
import { namesInFiles } from '../../decision/trace/known-names.ts';
import type { Catalogues } from '../../tenants/catalogues.ts';
import type { MaybePromise } from '../../util/maybe-promise.ts';
import { type LoadedPolicyFile, loadPolicyFiles } from '../reload/policy-files.ts';

/** A configuration, and the files that it names and was read from. */
export interface Loaded {
  readonly config: Config;
  readonly files: Files;
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

/** What names that policies may use are known from, besides the configuration. */
interface NameSources {
  readonly catalogues: Catalogues;
  /** The ids of tenants that the configuration does not name. */
  readonly registered: ReadonlySet<string>;
}

/** Returns a configuration whose policies are read in this thread. */
export const loadedHere = (config: Config, files: Files): Loaded => ({
  config,
  files,
  readPolicies: ({ catalogues, registered }, log) =>
    loadPolicyFiles(config, namesInFiles(config, catalogues, registered), log, files),
});
