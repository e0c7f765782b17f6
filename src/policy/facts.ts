import type { BodyValue, ContentClass, Operation, OwnAgent } from '../core/call.ts';
import type { Target } from '../core/target.ts';
import type { WordsFound } from '../inspect/match/rule-words.ts';

/** The facts that only the body of a call tells. */
export interface BodyFacts {
  readonly bytes: number;
  /**
   * The body as received and each of its decoded forms; empty for a call without one. Every field name that
   * `value` can produce stands in one of them as it is. Only characters written as JSON `\u` escapes are an
   * exception. Body paths are skipped where their name is absent.
   */
  readonly texts: readonly Buffer[];
  /** Results of an earlier search in `texts`, with the list of its words; undefined where there was none. */
  readonly wordsFound?: (WordsFound & { readonly list: readonly string[] }) | undefined;
  /** Returns the structure of the body. A form is an object of strings. */
  value(): BodyValue;
  /** Field names may stand in the body in bytes that no search finds, as in UTF-16. */
  readonly hidesNames: boolean;
}

/**
 * All that a rule may ask about a call: the one interface between the pipeline and the policies. Nothing in
 * it waits; getters and methods may do their work on first use and must then answer the same until the
 * decision is made. A signal that is not known is given as its harmless value (false, 0, trust 1), never
 * guessed.
 */
export interface Facts {
  readonly envName: string;
  readonly operation: Operation;
  /** In any case. */
  readonly method: string;
  /** Upper case: the methods that the call names beside its own, and that some servers take instead. */
  readonly overridingMethods: readonly string[];
  readonly target: Target;
  /** Lower case: the agent that makes the call, as far as the call says. */
  readonly agentId: string;
  readonly runtimeType: string | undefined;
  /** The agent of the key: to a rule that refuses, a call that names another agent is still its. */
  readonly ownAgent: Pick<OwnAgent, 'agentId' | 'runtimeType'>;
  readonly nowMs: number;
  readonly body: BodyFacts;
  /** Classes found anywhere with medium confidence or more, and OPAQUE_CONTENT for unreadable content. */
  readonly classes: readonly ContentClass[];
  /** 0 to 1. */
  readonly riskScore: number;
  readonly isNewDestination: boolean;
  readonly isExternalPrincipal: boolean;
  readonly isVolumeBurst: boolean;
  /** 0 to 1. */
  readonly trustScore: number;
  readonly threatIntelMatch: boolean;
  /** Returns false for a budget that nobody defined. */
  isBudgetExceeded(name: string): boolean;
}
