import type { Operation, OperationPart } from '../core/call.ts';
import { strictest } from './meaning.ts';

/** One of several, which may do several things itself. */
type Part = OperationPart & { readonly operation: Operation };

/** Returns all that a call does at once: the strictest, and beside it each of them by itself. */
export function together(parts: readonly [Part, ...Part[]]): Operation {
  const [{ operation: first }] = parts;
  const { parts: _, ...bearing } = strictest(parts.map(({ operation }) => operation)) ?? first;
  return {
    ...bearing,
    parts: parts.flatMap((part) => part.operation.parts?.map((it) => ({ ...part, ...it })) ?? part),
  };
}
