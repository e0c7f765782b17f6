import { existsSync, realpathSync } from 'node:fs';

/** Tells whether a path leads to the running program. In somebody else's folder it may be any other. */
function isThisProgram(path: string): boolean {
  // If the program was not started as a file, Node's second argument is the first of the program's own.
  const program = process.argv[1] ?? '';
  return existsSync(path) && existsSync(program) && realpathSync(path) === realpathSync(program);
}

/** The command as a user types it in this folder. In a checkout the shell knows no program of that name. */
export const ownCommand = isThisProgram('bin/postern') ? 'bin/postern' : 'postern';
