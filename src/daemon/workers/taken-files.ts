import { disk, type Files } from '../../config/load.ts';
import { kept } from '../../util/kept.ts';

/**
 * Files as they were read at one time. All workers of a daemon use the same ones. So does a worker that
 * starts after a change on the disk, before anybody asks for a reload.
 */
export interface TakenFiles {
  readonly contents: ReadonlyMap<string, Uint8Array>;
  /** The paths that each pattern has matched. */
  readonly found: ReadonlyMap<string, readonly string[]>;
}

/** Returns the disk as `files`, and `taken`, which remembers everything that is read through it. */
export function takeFiles(): { readonly files: Files; readonly taken: TakenFiles } {
  const contents = new Map<string, Uint8Array>();
  const found = new Map<string, readonly string[]>();
  const files: Files = {
    read(path, maxBytes) {
      // Each file is read once: what is checked here is what the workers get.
      return toBuffer(kept(contents, path, () => disk.read(path, maxBytes)));
    },
    find: (pattern) => kept(found, pattern, () => disk.find(pattern)),
  };
  return { files, taken: { contents, found } };
}

/** Returns files that are read from the taken ones alone. Reading any other throws. */
export function filesTaken({ contents, found }: TakenFiles): Files {
  return {
    read(path) {
      const content = contents.get(path);
      if (!content) throw new Error(`${path} was not among the files that were read`);
      return toBuffer(content);
    },
    find(pattern) {
      const paths = found.get(pattern);
      if (!paths) throw new Error(`${pattern} was not among the patterns that were looked for`);
      return paths;
    },
  };
}

const toBuffer = (content: Uint8Array): Buffer =>
  Buffer.from(content.buffer, content.byteOffset, content.byteLength);
