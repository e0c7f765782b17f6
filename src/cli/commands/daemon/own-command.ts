import { existsSync, realpathSync } from 'node:fs';

/** Tells whether a path leads to the running program: in a folder of somebody else it may be any. */
function isThisProgram(path: string): boolean {
  // If the program was not started as a file, Node's second argument is the first of the program's own.
  const program = process.argv[1] ?? '';
  return existsSync(path) && existsSync(program) && realpathSync(path) === realpathSync(program);
}

/** The command as one types it in this folder: in a checkout it is no program of the shell. */
export const ownCommand = isThisProgram('bin/postern') ? 'bin/postern' : 'postern';
