import { hash } from 'node:crypto';
import { ConfigError, type Files, type Mistake } from '../../config/load.ts';
import type { Log } from '../../core/log.ts';
import { type FileProblem, type KnownNames, parsePolicyFile } from '../../policy/index.ts';
import type { PolicyDocument } from '../../policy/schema.ts';
import { readPolicyFile } from './named-files.ts';

/** A file of policies, as it was read last. */
export interface LoadedPolicyFile {
  readonly file: string;
  /** The digest of the text; the same digest means the same documents. */
  readonly digest: string;
  readonly documents: readonly PolicyDocument[];
}

/** The result of reading one file, or a pattern without files. */
export type ToldPolicies =
  | { readonly unmatched: string }
  | {
      readonly file: string;
      readonly digest: string;
      /** The policies; undefined where they are those of `before`, since the text is the same. */
      readonly documents: readonly PolicyDocument[] | undefined;
      readonly warnings: readonly FileProblem[];
    }
  | { readonly mistakes: readonly Mistake[] };

/** Reads the files of the patterns one by one. Files with a digest in `before` come without documents. */
export function* readPolicies(
  patterns: readonly string[],
  { files, known, before }: { files: Files; known: KnownNames; before: ReadonlyMap<string, string> },
): Generator<ToldPolicies> {
  for (const pattern of patterns) {
    const found = files.find(pattern);
    if (found.length === 0) yield { unmatched: pattern };
    for (const file of found) {
      const text = textOf(files, file);
      if (typeof text !== 'string') {
        yield text;
        continue;
      }
      const digest = hash('sha256', text);
      if (text.trim() === '' && (before.get(file) ?? digest) !== digest) {
        yield { mistakes: [{ path: file, line: undefined, message: emptied }] };
        continue;
      }
      const parsed = parsePolicyFile(text, file, known);
      if (parsed.ok) {
        const documents = before.get(file) === digest ? undefined : parsed.policies;
        yield { file, digest, documents, warnings: parsed.warnings };
      } else yield { mistakes: parsed.errors.map(inFile) };
    }
  }
}

/**
 * The mistake of a file that has become empty. A program that writes a file anew empties it first, and a
 * reload may come in between.
 */
const emptied =
  'is empty, and was not; if its policies shall not hold any more, remove it, or leave a comment in it';

/** Returns the text of a policy file, or why it cannot be read. */
function textOf(files: Files, file: string): string | Extract<ToldPolicies, { mistakes: unknown }> {
  try {
    return readPolicyFile(files, file);
  } catch (error) {
    if (error instanceof ConfigError) return { mistakes: error.mistakes };
    throw error;
  }
}

/** Collects what was read, in order. Warns of a pattern without files, and of doubtful policies. */
export class PolicyCollector {
  readonly #log: Pick<Log, 'warn'>;
  readonly #before: ReadonlyMap<string, LoadedPolicyFile>;
  readonly #mistakes: Mistake[] = [];
  readonly #files: LoadedPolicyFile[] = [];
  /** The first policy of each name and environments, with its file. */
  readonly #named = new Map<string, { readonly file: string; readonly document: PolicyDocument }>();

  constructor(log: Pick<Log, 'warn'>, before: readonly LoadedPolicyFile[] = []) {
    this.#log = log;
    this.#before = new Map(before.map((it) => [it.file, it]));
  }

  /** Returns the digests of files whose documents are known already. */
  get digests(): ReadonlyMap<string, string> {
    return new Map([...this.#before.values()].map(({ file, digest }) => [file, digest]));
  }

  take(told: ToldPolicies): void {
    if ('unmatched' in told) {
      this.#log.warn({ pattern: told.unmatched }, 'no policy file matches this pattern');
    } else if ('mistakes' in told) {
      this.#mistakes.push(...told.mistakes);
    } else {
      const { file, digest, warnings } = told;
      const documents = told.documents ?? this.#before.get(file)?.documents ?? [];
      this.#warnOfTwins(file, documents);
      this.#files.push({ file, digest, documents });
      for (const { line, message } of warnings)
        this.#log.warn({ file, line, warning: message }, 'a policy is taken with a warning');
    }
  }

  /**
   * Warns of policies with one name in a tenant. They have one id, so lists and traces cannot tell them
   * apart.
   */
  #warnOfTwins(file: string, documents: readonly PolicyDocument[]): void {
    for (const document of documents) {
      const { name, envNames = [] } = document;
      const key = JSON.stringify([name, ...envNames.toSorted()]);
      const first = this.#named.get(key);
      if (!first) this.#named.set(key, { file, document });
      else if (haveOneTenant(first.document, document)) {
        const warning = `${name}: ${first.file} has a policy of this name, too; both judge, and cannot be told apart`;
        this.#log.warn({ file, warning }, 'a policy is taken with a warning');
      }
    }
  }

  /** Throws `ConfigError` with the mistakes of all files. */
  result(configFile: string | undefined): readonly LoadedPolicyFile[] {
    if (this.#mistakes.length > 0) throw new ConfigError(configFile, this.#mistakes);
    return this.#files;
  }
}

const haveOneTenant = ({ tenants: some }: PolicyDocument, { tenants: others }: PolicyDocument): boolean =>
  !some || !others || some.some((it) => others.includes(it));

/**
 * Reads all policy files at once, for a process that has nothing else to do meanwhile. Throws `ConfigError`.
 */
export function loadPolicyFiles(
  { file, policies }: { readonly file: string | undefined; readonly policies: readonly string[] },
  known: KnownNames,
  log: Pick<Log, 'warn'>,
  files: Files,
): readonly LoadedPolicyFile[] {
  const collector = new PolicyCollector(log);
  for (const told of readPolicies(policies, { files, known, before: new Map() })) collector.take(told);
  return collector.result(file);
}

/**
 * Returns a mistake in a policy file. Its path has file, line and column, since it does not stand in the
 * configuration.
 */
function inFile({ file, line, column, path, message }: FileProblem): Mistake {
  const place = [file, line, column].filter((it) => it !== undefined).join(':');
  return { path: `${place} ${path}`.trimEnd(), line: undefined, message };
}
