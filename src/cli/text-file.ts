import { reasonOf } from '../config/checks/references.ts';
import { readInput } from './input.ts';
import { MistakesError } from './problems.ts';

/** Reads a text file, `-` being standard input. Throws `MistakesError` if it is too large or no UTF-8. */
export async function readTextFile(file: string, bytesMax: number): Promise<string> {
  try {
    const bytes = await readInput(file === '-' ? undefined : file, bytesMax);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    const message = whyUnread(error);
    throw new MistakesError([{ file, line: undefined, path: '', message }], { cause: error });
  }
}

function whyUnread(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'is not UTF-8';
  return code === undefined ? (error as Error).message : `cannot be read: ${reasonOf(error)}`;
}
