import type { Command } from 'commander';
import type { CaseResult } from '../../../decision/approvals/cases.ts';
import type { CaseFilesResult, FiledCase } from '../../case-files.ts';
import type { CommonOptions } from '../../connection/client.ts';
import { print, toJson } from '../../output.ts';
import { toProblemLine } from '../../problems.ts';

/** Adds `postern policy test`, which judges as a daemon would, without one. A failed case ends it with 1. */
export function addPolicyTest(group: Command): void {
  group
    .command('test')
    .description('judge the calls of case files, and compare with what they expect; asks no daemon')
    .argument(
      '<file...>',
      'YAML or JSON: policies, and cases of a call and what is expected; - for standard input',
    )
    .action(async (files: readonly string[], _options: unknown, test: Command) => {
      const { runCaseFiles } = await import('../../case-files.ts');
      const outcome = await runCaseFiles(files);
      const { json } = test.optsWithGlobals<CommonOptions>();
      await print(json ? `${toJson(toAnswer(outcome))}\n` : toLines(outcome));
      if (outcome.errors.length > 0 || failedOf(outcome).length > 0) process.exitCode = 1;
    });
}

const failedOf = ({ cases }: CaseFilesResult): readonly FiledCase[] => cases.filter(({ ok }) => !ok);

function toLines(outcome: CaseFilesResult): string {
  const failed = failedOf(outcome);
  const problems = [
    ...outcome.errors,
    ...failed.map((it) => ({ file: it.file, line: it.line, path: it.name, message: toDifference(it) })),
  ];
  const summary = `${outcome.cases.length - failed.length} passed, ${failed.length} failed.`;
  return [...problems.map(toProblemLine), summary].map((it) => `${it}\n`).join('');
}

/** Returns a text such as `expected DENY by rule no-force-push; it is ALLOW by no rule: No rule matched.` */
function toDifference({ expected, actual }: CaseResult): string {
  const { decision, reasons = [], rule } = expected;
  const wanted = outcomeText(decision, reasons, rule);
  const came = outcomeText(actual.decision, actual.reasonCodes, actual.ruleId ?? null);
  return [`expected ${wanted}; it is ${came}`, actual.explanation.join(' ')]
    .filter((it) => it !== '')
    .join(': ');
}

/** Returns an outcome in words. `rule` is null where no rule decides, and undefined where nothing is said. */
function outcomeText(decision: string, reasons: readonly string[], rule: string | null | undefined): string {
  const because = reasons.length === 0 ? '' : ` for ${reasons.join(', ')}`;
  const by = rule === undefined ? '' : rule === null ? ' by no rule' : ` by rule ${rule}`;
  return `${decision}${because}${by}`;
}

const toAnswer = (outcome: CaseFilesResult): object => ({
  passed: outcome.cases.length - failedOf(outcome).length,
  failed: failedOf(outcome).length,
  cases: outcome.cases.map(({ actual, ...it }) => ({
    ...it,
    actual: {
      decision: actual.decision,
      reason_codes: actual.reasonCodes,
      rule_id: actual.ruleId ?? null,
      policy_name: actual.policyName ?? null,
      explanation: actual.explanation,
    },
  })),
  errors: outcome.errors,
});
