import { dirname, isAbsolute, join, resolve } from 'node:path';
import { ConfigError, disk } from '../config/load.ts';
import { readDetectorFiles } from '../daemon/reload/named-files.ts';
import { CaseFileError, type CaseResult, type Cases, openCases } from '../decision/approvals/cases.ts';
import type { DetectorText } from '../tenants/added-detectors.ts';
import { readValidPolicies, toDocument } from './policy-files.ts';
import { MistakesError, type Problem } from './problems.ts';
import { readYamlFile } from './yaml-file.ts';

/** The results of the cases of all files, and the mistakes in files that could not be run. */
export interface CaseFilesResult {
  readonly cases: readonly FiledCase[];
  readonly errors: readonly Problem[];
}

export interface FiledCase extends CaseResult {
  readonly file: string;
  readonly line: number;
}

/** Runs the cases of files, one file after the other. */
export async function runCaseFiles(files: readonly string[]): Promise<CaseFilesResult> {
  const cases = await openCases();
  const outcomes: CaseFilesResult[] = [];
  for (const file of files) outcomes.push(await runCaseFile(cases, file));
  return {
    cases: outcomes.flatMap((it) => it.cases),
    errors: outcomes.flatMap((it) => it.errors),
  };
}

async function runCaseFile(cases: Cases, file: string): Promise<CaseFilesResult> {
  let lineOf: ((path: string) => number) | undefined;
  try {
    const read = await readYamlFile(file);
    lineOf = read.lineOf;
    const results = await cases.run(
      read.value,
      (named) => policiesOf(file, named),
      (patterns) => detectorsOf(file, patterns),
    );
    return {
      cases: results.map((it, at) => ({ ...it, file, line: read.lineOf(`cases[${at}]`) })),
      errors: [],
    };
  } catch (error) {
    if (error instanceof MistakesError) return { cases: [], errors: error.mistakes };
    if (!(error instanceof CaseFileError)) throw error;
    return { cases: [], errors: error.errors.map((it) => ({ file, line: lineOf?.(it.path), ...it })) };
  }
}

/** Returns the texts of the detectors that a case file adds. Throws `ConfigError`, also for none at all. */
function detectorsOf(file: string, patterns: readonly string[]): readonly DetectorText[] {
  const detectors = patterns.map((pattern) => resolve(dirname(file), pattern));
  const { texts, unmatched } = readDetectorFiles(disk, { file: undefined, detectors });
  const mistakes = unmatched.map((pattern) => ({
    path: `detectors[${detectors.indexOf(pattern)}]`,
    line: undefined,
    message: 'no file matches this pattern',
  }));
  if (mistakes.length > 0) throw new ConfigError(undefined, mistakes);
  return texts;
}

/** Returns the policies of a file, whose name is relative to the case file. */
const policiesOf = async (file: string, named: string): Promise<readonly unknown[]> => {
  const policies = await readValidPolicies([isAbsolute(named) ? named : join(dirname(file), named)]);
  return policies.map(toDocument);
};
