import type { ExportFormat } from './format.ts';

/*
 * Traces as comma-separated values (RFC 4180), with CRLF at the end of a line. Columns keep their places; new
 * ones are added last.
 */

export const csvColumns = [
  'trace_id',
  'at',
  'tenant_id',
  'env_name',
  'agent_id',
  'agent_name',
  'runtime_type',
  'key_id',
  'key_prefix',
  'client_address',
  'entrance',
  'method',
  'url',
  'body_bytes',
  'tool_name',
  'operation',
  'category',
  'verb',
  'decision',
  'would_be',
  'risk_score',
  'risk_band',
  'reason_codes',
  'classifications',
  'findings',
  'tags',
  'violations',
  'credential',
  'policy_name',
  'rule_id',
  'approval_id',
  'message_of',
  'explanation',
  'registered_name',
] as const;

const lineEnd = '\r\n';
const between = '; ';

/** Matches the first characters that a spreadsheet takes for a formula, from any keyboard. */
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
/** Matches the end of a cell, for another reader, before a formula; quotes and spaces may stand between. */
const innerFormula = /([;,|\t\r\n]["'\s]{0,8})(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;
/** Matches texts that need no quotes, whichever separator a reader expects. */
const harmless = /^[\w.:/-]*$/;

/**
 * Returns a text as a cell. Strangers chose these texts, so an apostrophe before a formula keeps a
 * spreadsheet from working it out.
 */
function toCell(text: string): string {
  const inside = text.replace(innerFormula, "$1'");
  const defused = formula.test(inside) ? `'${inside}` : inside;
  return harmless.test(defused) ? defused : `"${defused.replaceAll('"', '""')}"`;
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return '';
  // The gateway makes all numbers itself, so that they are harmless.
  if (typeof value === 'number') return String(value);
  return toCell(Array.isArray(value) ? value.map(toWords).join(between) : toWords(value));
}

/** Returns a value as words: of an object, such as a finding, all its values (class, kind, place). */
const toWords = (value: unknown): string =>
  typeof value === 'object' && value !== null ? Object.values(value).join(' ') : String(value);

export const csvExport: ExportFormat = {
  contentType: 'text/csv; charset=utf-8; header=present',
  extension: 'csv',
  head: `${csvColumns.join()}${lineEnd}`,
  toText(trace) {
    const fields = JSON.parse(trace) as Readonly<Record<string, unknown>>;
    return `${csvColumns.map((name) => toText(fields[name])).join()}${lineEnd}`;
  },
};
