import { type Decision, decisions } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
import { isTraceId, traceIdLength } from '../../core/ids.ts';
import { ownName } from '../../core/safe-name.ts';
import { chargesText, parseCharges } from '../rules/budgets.ts';
import { marksText, parseMarks } from '../rules/trust.ts';
import type { RecordedCall } from '../store.ts';

/*
 * Makes and parses lines of the journal. A line begins with the trace's id, the time, tenant, agent, key,
 * decision, outcome and destination. A list follows where there is any of it: the size class, further names,
 * marks, charges and the credential. The trace as JSON comes last. A tab stands between each two fields and a
 * newline at the end. JSON text has neither raw tabs nor newlines in it. The other fields are quoted as JSON
 * where they could be mistaken for something else. So nothing that a caller writes can end a field or a line.
 * No field before the trace begins with a brace, so the first tab with a brace behind it ends the head.
 */

/**
 * Text that is written as it is. It has no control character, and its first character begins neither quoted
 * text nor a trace.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is kept out.
const plain = /^(?:[^\0-\x1f"{][^\0-\x1f]*)?$/;

const isPlain = (text: string): boolean => plain.test(text) && text.isWellFormed();
const quote = (text: string): string => (isPlain(text) ? text : JSON.stringify(text));
const unquote = (text: string): string => (text.startsWith('"') ? JSON.parse(text) : text);

/** The head of nearly all calls, as one pattern. Testing its fields one by one costs three times as much. */
const plainHead =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is kept out.
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\t\d+(?:\t(?:[^\0-\x1f"{][^\0-\x1f]*)?){6}\t$/;

/** Returns a line up to the trace. Throws INTERNAL for an id or a trace that the gateway does not make. */
export function toHead(call: RecordedCall): string {
  const { traceId, atMs, tenantId, agentId, keyId, decision, outcome, destination, line } = call;
  if (!line.startsWith('{') || line.includes('\n'))
    throw new GatewayError('INTERNAL', 'A trace is an object on one line.');
  const more = moreOf(call);
  const head = `${traceId}\t${atMs}\t${tenantId}\t${agentId}\t${keyId}\t${decision}\t${outcome}\t${destination}\t`;
  if (plainHead.test(head) && head.isWellFormed()) return head + more;
  if (!isTraceId(traceId)) throw new GatewayError('INTERNAL', 'A trace has a UUID of version 7.');
  const [tenant, agent, key, touched] = [tenantId, agentId, keyId, destination].map(quote);
  return `${traceId}\t${atMs}\t${tenant}\t${agent}\t${key}\t${decision}\t${outcome}\t${touched}\t${more}`;
}

/** Returns the list of rare fields; '' where the call has none. */
function moreOf({ sizeClass = 0, names, marks, charges, credential }: RecordedCall): string {
  if (!names && !marks && !charges && credential === undefined)
    return sizeClass === 0 ? '' : `[${sizeClass}]\t`;
  const list: unknown[] = [
    ...[sizeClass, names ?? [], marks ? marksText(marks) : [], charges ? chargesText(charges) : []],
    ...(credential === undefined ? [] : [credential]),
  ];
  return `${JSON.stringify(list)}\t`;
}

/** Parses what `moreOf` makes. Throws for any other text. */
function parseMore(
  text: string,
): Pick<CallOrigin, 'sizeClass' | 'names' | 'marks' | 'charges' | 'credential'> {
  const list: unknown = JSON.parse(text);
  if (!Array.isArray(list)) throw new TypeError('what else a call has is a list');
  const [sizeClass, names = [], marks = [], charges = [], credential] = list as unknown[];
  if (typeof sizeClass !== 'number' || !Number.isSafeInteger(sizeClass) || sizeClass < 0)
    throw new TypeError('a size class is a whole number');
  if (!Array.isArray(names) || !names.every((it) => typeof it === 'string'))
    throw new TypeError('names are texts');
  if (credential !== undefined && typeof credential !== 'string')
    throw new TypeError('a credential is known by its name');
  const [held, spent] = [parseMarks(marks), parseCharges(charges)];
  return {
    ...(sizeClass > 0 ? { sizeClass } : {}),
    ...(names.length > 0 ? { names: names.map(ownName) } : {}),
    ...(held.length > 0 ? { marks: held } : {}),
    ...(spent.length > 0 ? { charges: spent } : {}),
    ...(credential === undefined ? {} : { credential }),
  };
}

/** Returns the whole line, with its newline. */
export const toLine = (call: RecordedCall): string => `${toHead(call)}${call.line}\n`;

/** The head of a line behind the time. Calls of one key with the same destination and outcome share it. */
export type CallOrigin = Omit<RecordedCall, 'traceId' | 'atMs' | 'line'>;

const outcomes: ReadonlySet<string> = new Set<RecordedCall['outcome']>([
  'call',
  'blocked',
  'limited',
  'refused',
]);
const isOutcome = (text: string): text is RecordedCall['outcome'] => outcomes.has(text);
const isDecision = (text: string): text is Decision => (decisions as readonly string[]).includes(text);

/** Parses an origin, from the tenant to the rare fields; undefined where the text is none. */
export function parseOrigin(text: string): CallOrigin | undefined {
  const fields = text.split('\t');
  const more = fields[6];
  if (fields.length !== 6 && fields.length !== 7) return undefined;
  try {
    const [tenantId = '', agentId = '', keyId = '', decision = '', outcome = '', destination = ''] = fields
      .slice(0, 6)
      .map(unquote);
    if (!isDecision(decision) || !isOutcome(outcome)) return undefined;
    const origin = { tenantId, agentId, keyId, decision, outcome, destination: ownName(destination) };
    return more === undefined ? origin : { ...origin, ...parseMore(more) };
  } catch {
    return undefined;
  }
}

/** Parses a line without its newline; undefined where the line is not whole. */
export function parseLine(text: string): RecordedCall | undefined {
  const traceId = text.slice(0, traceIdLength);
  const originAt = text.indexOf('\t', traceIdLength + 1) + 1;
  const lineAt = text.indexOf('\t{', originAt) + 1;
  if (originAt === 0 || lineAt === 0 || !isTraceId(traceId) || !text.endsWith('}')) return undefined;
  const origin = parseOrigin(text.slice(originAt, lineAt - 1));
  const atMs = Number(text.slice(traceIdLength + 1, originAt - 1));
  return origin && { traceId, atMs, ...origin, line: ownName(text.slice(lineAt)) };
}
