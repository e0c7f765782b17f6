import type { Unclear, Verb } from '../../core/call.ts';

export interface MessageMeaning {
  readonly toolName: string;
  readonly name: string;
  readonly category: string;
  readonly verb: Verb;
  /** Whom it addresses beside the agent at the other end. */
  readonly principals?: readonly string[];
  readonly unclear?: Unclear;
}
