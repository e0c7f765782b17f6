import type { Finding } from '../../core/finding.ts';

/*
 * Packs findings for the way from a thread as a list of plain values. Cloning objects with all that their
 * detectors say takes ten times as long, and a body may have hundreds.
 */

type OfDetector = Pick<Finding, 'class' | 'kind' | 'vendorHosts'>;

interface Packed {
  readonly detectors: readonly OfDetector[];
  /** For each finding the index of its detector, then the finding's own fields. */
  readonly values: readonly unknown[];
}

const valuesPerFinding = 7;

/** Returns the output of a job with its findings packed. */
export function packedFindings(output: object): object {
  if (!('findings' in output)) return output;
  const findings = output.findings as readonly Finding[];
  if (findings.length === 0) return output;
  const indices = new Map<string, number>();
  const detectors: OfDetector[] = [];
  const values: unknown[] = [];
  for (const { class: dataClass, kind, vendorHosts, ...own } of findings) {
    const index = indices.get(kind) ?? detectors.push({ class: dataClass, kind, vendorHosts }) - 1;
    indices.set(kind, index);
    const { confidence, location, part, start, end, atHome } = own;
    values.push(index, confidence, location, part, start, end, atHome);
  }
  const packed: Packed = { detectors, values };
  return { ...output, findings: packed };
}

/** Returns the output with its findings unpacked. */
export function unpackedFindings<T extends object>(output: T): T {
  if (!('findings' in output) || Array.isArray(output.findings)) return output;
  const { detectors, values } = output.findings as Packed;
  const findings: Finding[] = [];
  for (let at = 0; at < values.length; at += valuesPerFinding) {
    const { class: dataClass, kind, vendorHosts } = detectors[values[at] as number] as OfDetector;
    const finding: Finding = {
      ...{ class: dataClass, kind },
      confidence: values[at + 1] as Finding['confidence'],
      location: values[at + 2] as string,
      part: values[at + 3] as Finding['part'],
      start: values[at + 4] as number,
      end: values[at + 5] as number,
      atHome: values[at + 6] as boolean,
      vendorHosts,
    };
    findings.push(finding);
  }
  return { ...output, findings };
}
