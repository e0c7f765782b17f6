import type { Files } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { Log } from '../../core/log.ts';
import type { KnownNames } from '../../policy/index.ts';
import type { MaybePromise } from '../../util/maybe-promise.ts';
import { type LoadedPolicyFile, loadPolicyFiles } from '../reload/policy-files.ts';

/** A configuration, and the files that it names and was read from. */
export interface Loaded {
  readonly config: Config;
  readonly files: Files;
  /**
   * Reads the policy files. Files whose text is as in `before` keep their documents. Throws `ConfigError`
   * with the mistakes of all.
   */
  readPolicies(
    known: KnownNames,
    log: Log,
    before: readonly LoadedPolicyFile[],
  ): MaybePromise<readonly LoadedPolicyFile[]>;
}

/** Returns a configuration whose policies are read in this thread. */
export const loadedHere = (config: Config, files: Files): Loaded => ({
  config,
  files,
  readPolicies: (known, log) => loadPolicyFiles(config, known, log, files),
});
