import { attackId } from '../src/core/attacks.ts';
import { problems } from '../src/core/errors.ts';
import { type FamilyText, familyTexts } from '../src/daemon/metrics/families.ts';
import { reasonCodes } from '../src/decision/reason-codes.ts';
import { signalReasons } from '../src/decision/verdict.ts';
import { defaultWeights } from '../src/risk/signals/score.ts';
import { wrapLines } from './wrap.ts';

/* Writes the references of observability: metrics, and the codes that stand in their labels, in traces and in answers. */

const note = 'This page is made by `node docs/generate.ts` from the code.';

/** The page of all metrics. */
export function metricsDocument(): string {
  const families: [string, FamilyText][] = Object.entries(familyTexts);
  const lines = families.map(
    ([name, { type, help, labels = [] }]) =>
      `- \`${name}\` (${[type, ...labels.map((it) => `\`${it}\``)].join(', ')}): ${help}`,
  );
  return wrapLines(
    [
      '# Metrics',
      '',
      `Every metric of \`GET /metrics\`, with its type and labels. ${note}`,
      '',
      'No label names a tenant, an agent, a host or a URL. Those of Node and of the process (`nodejs_*`, `process_*`) stand beside them.',
      '',
      ...lines,
      '',
    ].join('\n'),
  );
}

const meanings = new Map(
  reasonCodes.flatMap(([codes, meaning]) => codes.map((code) => [code, meaning] as const)),
);

/** The page of reason codes, signals and errors. */
export function codesDocument(): string {
  const reasons = [...meanings].map(([code, meaning]) => {
    const attack = attackId(code);
    return `- \`${code}\`: ${meaning}${attack === undefined ? '' : ` (${attack})`}.`;
  });
  const signals = [...signalReasons].map((name) => `- \`${name}\`: ${meanings.get(name) ?? 'see risk'}.`);
  const weights = Object.entries(defaultWeights).map(([engine, weight]) => `\`${engine}\` ${weight}`);
  const errors = Object.entries(problems).map(
    ([code, { status, title, proxyStatus }]) => `- \`${code}\` (${status}, \`${proxyStatus}\`): ${title}.`,
  );
  return wrapLines(
    [
      '# Codes',
      '',
      `Reason codes, signals and errors, as they stand in answers, traces and metrics. ${note}`,
      '',
      '## Reason codes',
      '',
      'Rules may name codes of their own besides these; in metrics those count as `OTHER`. In brackets stands the technique',
      'of MITRE ATLAS or ATT&CK that exports and notices in OCSF name.',
      '',
      ...reasons,
      '',
      '## Signals',
      '',
      `Each is a reason code as well. Engines count with these weights: ${weights.join(', ')} ([risk](../risk.md)).`,
      '',
      ...signals,
      '',
      '## Errors',
      '',
      'With the status of the answer, and the error type of `Proxy-Status` (RFC 9209).',
      '',
      ...errors,
      '',
    ].join('\n'),
  );
}
