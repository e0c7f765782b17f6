import { type DataClass, dataClasses, type Identity } from '../call.ts';
import { GatewayError } from '../errors.ts';
import { bareCall } from '../pipeline/bare-call.ts';
import type { Gate } from '../pipeline/gate.ts';
import { counts } from '../pipeline/sanitize.ts';
import { read } from '../pipeline/stages/read.ts';
import { parseTarget } from '../target.ts';
import { jsonDepth } from '../text/locate.ts';
import type { DescribedBody } from './described-call.ts';

/** No vendor's host: a credential that comes back from an upstream is at home nowhere. */
const nowhere = parseTarget('https://response.invalid/');

export interface AnswerReading {
  readonly classes: DataClass[];
  /** Distinct places that hold something of a class. */
  readonly places: number;
  /** The same text for contents that differ only in how their JSON is written. */
  readonly canonical: string;
}

/** Reads what an upstream has answered just as the body of a call is read. Throws where it cannot be read within the bounds. */
export async function readAnswer(
  gate: Gate,
  identity: Identity,
  { bytes, isText }: DescribedBody,
  nowMs: number,
): Promise<AnswerReading> {
  const call = bareCall({
    entrance: 'scan',
    receivedAtMs: nowMs,
    clientAddress: '',
    key: undefined,
    method: 'GET',
    target: nowhere,
    body: bytes,
    contentType: isText ? '' : 'application/json',
  });
  call.identity = identity;
  const { policies, tenants } = gate;
  const stage = read({ policies, tenants, clock: () => performance.now() });
  await stage.run(call);
  if (call.unreadable !== undefined)
    throw new GatewayError('VALIDATION_FAILED', `The content cannot be read to its end: ${call.unreadable}.`);
  const found = call.findings.filter((it) => it.part === 'body' && counts(it));
  return {
    classes: dataClasses.filter((name) => found.some((it) => it.class === name)),
    places: new Set(found.map((it) => it.location)).size,
    canonical: canonicalText(bytes),
  };
}

const depthMax = 512;

/** JSON with its members sorted by name and without white space; any other content as it is. */
function canonicalText(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  return jsonDepth(bytes, depthMax) ? text : JSON.stringify(value, sortMembers);
}

function sortMembers(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const sorted: Record<string, unknown> = Object.create(null);
  for (const [name, member] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    sorted[name] = member;
  return sorted;
}
