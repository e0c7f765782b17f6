import { readYaml } from '../util/yaml.ts';
import { errorsMax } from './issues.ts';
import type { PolicyDocument } from './schema.ts';
import { validateDocument } from './validate.ts';
import type { KnownNames } from './warnings/known-names.ts';

export const policyFileLengthMax = 4 * 1024 * 1024;
const documentsMax = 1000;

/** A mistake in a file, or a valid setting that may not do what its author thinks. */
export interface FileProblem {
  readonly file: string;
  /** The line, from 1; undefined for the file as a whole. */
  readonly line: number | undefined;
  /** The column, from 1; only for what is no YAML. */
  readonly column?: number;
  /** The place in the document, such as `rules[0].match.verbs[1]`; empty for the whole document. */
  readonly path: string;
  readonly message: string;
}

export type PolicyFile =
  | {
      readonly ok: true;
      readonly policies: readonly PolicyDocument[];
      readonly warnings: readonly FileProblem[];
    }
  | { readonly ok: false; readonly errors: readonly FileProblem[] };

/**
 * Reads the YAML documents of a policy file. Returns up to 50 mistakes of all documents at once, in the order
 * of the text. A file without documents is valid and has no policies.
 */
export function parsePolicyFile(text: string, file: string, known: KnownNames = {}): PolicyFile {
  if (text.length > policyFileLengthMax) {
    const message = `is longer than ${policyFileLengthMax} characters`;
    return { ok: false, errors: [{ file, line: undefined, path: '', message }] };
  }
  const { documents, mistakes } = readYaml(text, { documentsMax });
  const policies: PolicyDocument[] = [];
  const warnings: FileProblem[] = [];
  const errors: FileProblem[] = mistakes.map(({ line, column, message }) => ({
    file,
    line,
    column,
    path: '',
    message,
  }));
  for (const { value, line, lineOf } of documents) {
    if (errors.length >= errorsMax) break;
    if (value === null) continue;
    const validation = validateDocument(value, known);
    if (validation.ok) {
      const { name, rules } = validation.policy;
      policies.push(validation.policy);
      for (const it of validation.warnings) {
        const index = rules.findIndex(({ rule_id }) => it.startsWith(`rule ${rule_id}: `));
        const lineOfIt = index === -1 ? line : lineOf(`rules[${index}]`);
        warnings.push({ file, line: lineOfIt, path: '', message: `${name}: ${it}` });
      }
    } else {
      for (const it of validation.errors) errors.push({ ...it, file, line: lineOf(it.path) });
    }
  }
  if (errors.length === 0) return { ok: true, policies, warnings };
  return { ok: false, errors: errors.slice(0, errorsMax).sort((a, b) => (a.line ?? 0) - (b.line ?? 0)) };
}
