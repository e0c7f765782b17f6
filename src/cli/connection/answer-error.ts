import { printable } from '../output.ts';

/** A problem (RFC 9457) as it should be. Whatever has answered may write anything in its place. */
interface Problem {
  readonly detail?: unknown;
  readonly code?: unknown;
  readonly errors?: unknown;
}

export interface FieldMistake {
  /** The field of the request; '' for the request as a whole. */
  readonly path: string;
  readonly message: string;
}

/** Says that the daemon has refused a request: each mistake once, and the code of the refusal. */
export class AnswerError extends Error {
  readonly code: string;
  readonly mistakes: readonly FieldMistake[];

  constructor(answer: unknown, status: number, remedy = '') {
    const { detail, code, errors }: Problem = Object(answer);
    const mistakes = Array.isArray(errors) ? errors.flatMap(toMistake) : [];
    const known = typeof code === 'string' ? printable(code) : '';
    const said = typeof detail === 'string' ? printable(detail) : `The daemon answered ${status}.`;
    const text = mistakes.length > 0 ? mistakes.map(toLine).join('\n') : said;
    super(`${text}${known === '' ? '' : ` (${known})`}${remedy}`);
    this.code = known;
    this.mistakes = mistakes;
  }
}

/** Returns a mistake as the API writes it, in a list; anything else is left out. */
function toMistake(given: unknown): readonly FieldMistake[] {
  const { path, message }: Record<string, unknown> = Object(given);
  if (typeof path !== 'string' || typeof message !== 'string') return [];
  return [{ path: printable(path), message: printable(message) }];
}

const toLine = ({ path, message }: FieldMistake): string => (path === '' ? message : `${path}: ${message}`);

/** Returns the error for a refusal, whatever its text is. */
export function readRefusal(text: string, status: number): AnswerError {
  try {
    return new AnswerError(JSON.parse(text), status);
  } catch {
    return new AnswerError(undefined, status);
  }
}
