import type { Call } from '../../core/call.ts';

/** By which it is known again what an agent has done: the host, the tool, and what it did with it. */
export const touchedNamesOf = ({
  operation,
  target,
}: Call): readonly [host: string, tool: string, operation: string] => [
  `at:${target.host}`,
  `tool:${operation?.toolName}`,
  `does:${operation?.toolName} ${operation?.name}`,
];

/** Whether one of these has the name of an operation in it. */
export const isOfOperation = (name: string): boolean => name.startsWith('does:');
