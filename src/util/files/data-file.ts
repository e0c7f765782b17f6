import { CORE_SCHEMA, loadAll, mergeTag } from 'js-yaml';

/*
 * Reads the YAML files that come with the gateway: detectors, tools, phrases. They are three megabytes, read
 * at every start. So their values are made at once, without the places and the bounds that files of strangers
 * need (`yaml.ts`).
 */

interface DataFile {
  /** The documents of the file; none where it has a mistake. */
  readonly documents: readonly unknown[];
  /** The first mistake, with its line. */
  readonly mistake?: string;
}

const schemas = { withMerging: CORE_SCHEMA.withTags(mergeTag), plain: CORE_SCHEMA };

/**
 * Reads a file of YAML 1.2. With `mayMerge` it takes aliases, and `<<` merges. A key that stands twice in its
 * mapping is a mistake.
 */
export function readDataFile(text: string, mayMerge = false): DataFile {
  try {
    const schema = mayMerge ? schemas.withMerging : schemas.plain;
    return { documents: loadAll(text, { schema, maxAliases: mayMerge ? -1 : 0 }) };
  } catch (error) {
    return { documents: [], mistake: error instanceof Error ? error.message : String(error) };
  }
}
