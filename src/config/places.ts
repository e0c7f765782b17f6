import { ConfigError, type Mistake, type Path } from './checks/mistakes.ts';
import { disk, type Files, readText } from './files.ts';
import { readConfigYaml } from './yaml.ts';

const fileBytesMax = 4 * 1024 * 1024;

/**
 * Returns the same error, but with line and column in a configuration's mistakes wherever their file tells
 * them.
 */
export const placed = (error: unknown): unknown => (error instanceof ConfigError ? withPlaces(error) : error);

/** Returns the same error, but with line and column in its mistakes wherever their file tells them. */
export function withPlaces(error: ConfigError, files: Files = disk): ConfigError {
  const { file, mistakes } = error;
  if (file === undefined || mistakes.every(({ line, path }) => line !== undefined || path === ''))
    return error;
  try {
    const source = readConfigYaml(readText(files, file, fileBytesMax), (text) => text);
    const toPlaced = (it: Mistake): Mistake =>
      it.line !== undefined || it.path === '' ? it : { ...it, ...source.placeOf(stepsOf(it.path)) };
    const found = mistakes.map(toPlaced);
    return new ConfigError(
      file,
      found.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)),
    );
  } catch {
    // The file was read a moment ago. If it is gone since, the mistakes stand without places.
    return error;
  }
}

/** Returns the steps of a path as `dotted` writes it. */
const stepsOf = (path: string): Path =>
  [...path.matchAll(/\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.[\]]+)/g)].map(([, index, quoted, plain]) =>
    index !== undefined ? Number(index) : (quoted ?? plain ?? ''),
  );
