import { type Document, LineCounter, parseAllDocuments } from 'yaml';
import type { PolicyDocument } from './schema.ts';
import { type KnownNames, type PolicyError, validateDocument } from './validate.ts';

export const policyFileLengthMax = 4 * 1024 * 1024;
const documentsMax = 1000;

export type PolicyFile =
  | { readonly ok: true; readonly policies: readonly PolicyDocument[]; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly errors: readonly PolicyError[] };

/**
 * Reads the YAML documents of a policy file. Paths of errors begin with file and line (`baseline.yaml:12 rules[0].action`), and
 * all mistakes of all documents are answered at once. A file without documents is valid and has no policies.
 */
export function parsePolicyFile(text: string, file: string, known: KnownNames = {}): PolicyFile {
  const fail = (message: string): PolicyFile => ({ ok: false, errors: [{ path: file, message }] });
  if (text.length > policyFileLengthMax) return fail(`is longer than ${policyFileLengthMax} characters`);
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false });
  const documents = Array.isArray(parsed) ? parsed : [];
  if (documents.length > documentsMax) return fail(`has more than ${documentsMax} documents`);

  const result = { policies: [] as PolicyDocument[], warnings: [] as string[], errors: [] as PolicyError[] };
  const placeOf = (offset: number): string => `${file}:${lines.linePos(offset).line}`;
  for (const document of documents) {
    const { value, errors } = readDocument(document);
    const start = document.contents?.range?.[0] ?? 0;
    result.errors.push(...errors.map(({ offset, message }) => ({ path: placeOf(offset ?? start), message })));
    if (errors.length > 0 || value === null) continue;
    const validation = validateDocument(value, known);
    if (validation.ok) {
      const { name } = validation.policy;
      result.policies.push(validation.policy);
      result.warnings.push(...validation.warnings.map((warning) => `${placeOf(start)} ${name}: ${warning}`));
    } else {
      for (const { path, message } of validation.errors) {
        const place = placeOf(offsetOf(document, path) ?? start);
        result.errors.push({ path: `${place} ${path}`.trimEnd(), message });
      }
    }
  }
  const { policies, warnings, errors } = result;
  return errors.length > 0 ? { ok: false, errors } : { ok: true, policies, warnings };
}

interface Read {
  /** null for a document of comments only. */
  readonly value: unknown;
  readonly errors: readonly { readonly offset: number | undefined; readonly message: string }[];
}

function readDocument(document: Document.Parsed): Read {
  const errors = document.errors.map(({ pos, message }) => ({ offset: pos[0], message }));
  if (errors.length > 0) return { value: null, errors };
  try {
    return { value: document.toJS({ maxAliasCount: 0 }), errors: [] };
  } catch (error) {
    // An alias: policies have none, and a few of them make a bomb.
    const message = error instanceof Error ? error.message : 'cannot be read';
    return { value: null, errors: [{ offset: undefined, message }] };
  }
}

/** Where in the text the value at a path begins, or the nearest value around it that is there. */
function offsetOf(
  document: { getIn(path: unknown[], keepScalar: true): unknown },
  path: string,
): number | undefined {
  const steps = (path.match(/[^.[\]]+/g) ?? []).map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  for (let length = steps.length; length > 0; length--) {
    const node = document.getIn(steps.slice(0, length), true);
    if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range))
      return Number(node.range[0]);
  }
  return undefined;
}
