import type { BodyValue, ContentClass, Operation, OwnAgent, SignalName } from '../core/call.ts';
import type { Target } from '../core/target.ts';
import type { WordsFound } from '../inspect/match/rule-words.ts';

/** The facts that only the body of a call tells. */
export interface BodyFacts {
  readonly bytes: number;
  /**
   * The body as received and each of its decoded forms; empty for a call without a body. Every field name
   * that `value` can give stands in one of them as it is, except for characters written as JSON `\u` escapes.
   * Therefore a body path is skipped where its name is absent.
   */
  readonly texts: readonly Buffer[];
  /**
   * The results of an earlier search in `texts`, with the words looked for; undefined where there was none.
   */
  readonly wordsFound?: (WordsFound & { readonly list: readonly string[] }) | undefined;
  /** Returns the structure of the body. A form is an object of strings. */
  value(): BodyValue;
  /** Field names may stand in the body in bytes that no search finds, as in UTF-16. */
  readonly hidesNames: boolean;
}

/**
 * All that a rule may ask about a call. This is the one interface between the pipeline and the policies.
 * Nothing in it waits. Getters and methods may do their work on first use, and must answer the same until the
 * decision is made. A signal that is not known is given as its harmless value (false, 0, trust 1) and never
 * guessed.
 */
export interface Facts {
  readonly envName: string;
  readonly operation: Operation;
  /** The HTTP method, in any case. */
  readonly method: string;
  /** The methods that the call names beside its own and that some servers take instead, in upper case. */
  readonly overridingMethods: readonly string[];
  readonly target: Target;
  /** The agent that makes the call, as far as the call says, in lower case. */
  readonly agentId: string;
  readonly runtimeType: string | undefined;
  /** The agent of the key. A rule that refuses applies to it even where the call names another agent. */
  readonly ownAgent: Pick<OwnAgent, 'agentId' | 'runtimeType'>;
  readonly nowMs: number;
  readonly body: BodyFacts;
  /**
   * The classes found with medium confidence or more, and OPAQUE_CONTENT for content that nobody can read.
   */
  readonly classes: readonly ContentClass[];
  /** The ids of the detectors whose findings count for `classes`. */
  readonly detectors: readonly string[];
  /** The names of the signals of the call. */
  readonly signals: readonly SignalName[];
  /** The risk score, 0 to 1. */
  readonly riskScore: number;
  readonly isNewDestination: boolean;
  readonly isExternalPrincipal: boolean;
  readonly isVolumeBurst: boolean;
  /** The trust in the agent, 0 to 1. */
  readonly trustScore: number;
  readonly threatIntelMatch: boolean;
  /** Tells whether a budget is used up; false for a budget that nobody defined. */
  isBudgetExceeded(name: string): boolean;
}
