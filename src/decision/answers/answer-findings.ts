/**
 * The ends of an answer in which something was found. Clients report the `reported` ones, which they have
 * looked at.
 */
export const answerOutcomes = ['passed', 'redacted', 'blocked', 'reported'] as const;
export type AnswerOutcome = (typeof answerOutcomes)[number];

/** A finding of an answer, as it is counted. */
export interface AnswerFinding {
  readonly outcome: AnswerOutcome;
  /** The reason code of the finding, one of those that the gateway knows. */
  readonly reason: string;
}

/** The part of a scan of an answer that says what was found. */
interface Scan {
  readonly data_classes?: readonly string[];
  readonly injection?: { readonly detected: boolean };
  readonly blocked?: readonly string[];
  readonly redacted?: readonly unknown[];
  readonly mcp_drift?: unknown;
}

/** Returns the findings of a scan. Those of a blocked answer are the reasons for which it was blocked. */
export function findingsOf(scan: Scan, outcome: AnswerOutcome = outcomeOf(scan)): readonly AnswerFinding[] {
  const reasons = scan.blocked?.filter((it) => it !== 'RESPONSE_BLOCKED') ?? [
    ...(scan.data_classes ?? []),
    ...(scan.injection?.detected ? ['PROMPT_INJECTION'] : []),
    ...(scan.mcp_drift === undefined ? [] : ['MCP_TOOL_DRIFT']),
  ];
  return reasons.map((reason) => ({ outcome, reason }));
}

const outcomeOf = ({ blocked, redacted }: Scan): AnswerOutcome =>
  blocked ? 'blocked' : redacted ? 'redacted' : 'passed';
