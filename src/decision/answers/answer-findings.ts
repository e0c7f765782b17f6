/** The ends of an answer in which something was found; `reported` are those that clients have looked at. */
export const answerOutcomes = ['passed', 'redacted', 'blocked', 'reported'] as const;
export type AnswerOutcome = (typeof answerOutcomes)[number];

/** One thing that an answer was found to be or to have, as it is counted. */
export interface AnswerFinding {
  readonly outcome: AnswerOutcome;
  /** Is a reason code, of those that the gateway knows. */
  readonly reason: string;
}

/** Holds what a scan of an answer may tell. */
interface Scan {
  readonly data_classes?: readonly string[];
  readonly injection?: { readonly detected: boolean };
  readonly blocked?: readonly string[];
  readonly redacted?: readonly unknown[];
  readonly mcp_drift?: unknown;
}

/** Returns a scan's findings. The reasons against a blocked answer are those that it was blocked for. */
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
