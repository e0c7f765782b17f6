import type { ClassifiedCall } from '../../core/call.ts';

/**
 * Returns the names by which an agent's action is recognised later: the host, the tool, and the operation.
 */
export const touchedNamesOf = ({
  operation,
  target,
}: ClassifiedCall): readonly [host: string, tool: string, operation: string] => [
  `at:${target.host}`,
  `tool:${operation.toolName}`,
  `does:${operation.toolName} ${operation.name}`,
];

/** Tells whether a name is that of an operation. */
export const isOfOperation = (name: string): boolean => name.startsWith('does:');
