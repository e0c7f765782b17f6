import { existsSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/*
 * The program runs from its sources or from a bundle (see `src/bundle`). In both cases this module lies one
 * folder below the program's folder. No other module asks where it lies itself.
 */

const programFolder = join(import.meta.dirname, '..');

/** The folder of the package. It has the data in `config`. */
export const packageFolder = nearestPackage(programFolder);

/** Returns the path of a file that comes with the package, such as `config/tools`. */
export const packageFile = (path: string): string => join(packageFolder, path);

/** Returns the path of a file beside the modules of the program, such as `inspect/kernel/kernel.wasm`. */
export const programFile = (path: string): string => join(programFolder, path);

/**
 * Returns the URL of a thread's or a process's first module. `path` is its path in `src` without extension.
 */
export const programModule = (path: string): URL =>
  pathToFileURL(join(programFolder, `${path}${extname(import.meta.filename)}`));

function nearestPackage(folder: string): string {
  const parent = dirname(folder);
  if (existsSync(join(folder, 'package.json')) || parent === folder) return folder;
  return nearestPackage(parent);
}
