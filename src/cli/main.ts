import { CommanderError } from 'commander';
import { reasonOf } from '../config/checks/references.ts';
import { AnswerError } from './connection/answer-error.ts';
import { note, printable, toJson } from './output.ts';
import { createProgram } from './program.ts';

/** Exit codes: 0 is done, 1 refused or failed, 2 wrong usage, and 3 that something differs. */
const failed = 1;
const wrongUsage = 2;
/** Milliseconds in which a failed command may close what it has open. */
const leftOpenMs = 5_000;

/** Finds the command of `bin/postern` and runs it. Sets the exit code; never throws. */
export async function main(argv: readonly string[]): Promise<void> {
  const program = createProgram((text) => (asksForJson(argv) ? toJsonError(text) : text));
  try {
    await program.parseAsync(argv);
  } catch (error) {
    process.exitCode = report(error, asksForJson(argv));
    // Open handles must not keep a command alive: whoever started it waits for its end.
    setTimeout(() => process.exit(), leftOpenMs).unref();
  }
}

/** Reports a failure, as JSON where `--json` was asked for, and returns the exit code. */
function report(error: unknown, asJson: boolean): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : wrongUsage;
  const message = messageOf(error);
  const code = error instanceof AnswerError ? error.code : 'FAILED';
  note(asJson ? toJson({ error: { code, message } }) : `postern: ${message}`);
  return error instanceof AnswerError && error.code === 'VALIDATION_FAILED' ? wrongUsage : failed;
}

/** Returns the message of an error. Where the system refuses a file, it names the file and the reason. */
function messageOf(error: unknown): string {
  const { path, syscall, message = String(error) } = Object(error) as Partial<NodeJS.ErrnoException>;
  return path === undefined || syscall === undefined ? message : `${path}: ${reasonOf(error)}`;
}

/** Tells whether `--json` was asked for. Arguments behind `--` are for another program. */
function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end < 0 ? undefined : end).includes('--json');
}

const toJsonError = (text: string): string =>
  `${toJson({
    error: {
      code: 'USAGE',
      message: printable(
        text
          .replace(/^error: /, '')
          .trim()
          .replace(/\n/g, ' '),
      ),
    },
  })}\n`;
