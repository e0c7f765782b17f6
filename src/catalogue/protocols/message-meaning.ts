import type { Operation } from '../../core/operation.ts';

export interface MessageMeaning
  extends Pick<Operation, 'toolName' | 'name' | 'category' | 'verb' | 'unclear'> {
  /** Principals that the message addresses beside the agent at the other end. */
  readonly principals?: readonly string[];
}
