import type { Operation, OperationPart } from '../core/call.ts';
import { strictest } from './meaning.ts';

/** An operation among several of a call, which may have parts itself. */
type Part = OperationPart & { readonly operation: Operation };

/**
 * Joins operations that a call does at once. The result is the strictest of them, with all of them as its
 * parts.
 */
export function together(parts: readonly [Part, ...Part[]]): Operation {
  const [{ operation: first }] = parts;
  const { parts: _, ...bearing } = strictest(parts.map(({ operation }) => operation)) ?? first;
  return {
    ...bearing,
    parts: parts.flatMap((part) => part.operation.parts?.map((it) => ({ ...part, ...it })) ?? part),
  };
}
