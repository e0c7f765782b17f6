import { createHmac, randomBytes } from 'node:crypto';
import type { ApprovalRecord } from '../../state/store.ts';

/*
 * Groups held calls that differ in one argument, for one card in place of fifty. Only what a person can see whole
 * counts. A call of which something is cut out or left out stands by itself, since it may differ from the others in
 * just that.
 */

export interface SimilarCalls {
  readonly approvals: readonly ApprovalRecord[];
  /** What differs: `path 3`, `query page`, `body $.amount`; null for a call that stands by itself. */
  readonly differs: string | null;
  /** The values of what differs, in the order of the approvals. */
  readonly values: readonly string[];
}

/** Further arguments of a call are one. */
const argumentsMax = 32;
const depthMax = 12;
/** Longer values are not shown whole, and could be alike as far as they are shown. */
const shownMax = 200;

type Arguments = ReadonlyMap<string, string>;

/** Puts each approval into one group, the largest that it fits into; groups come in the order of their first approvals. */
export function groupSimilar(approvals: readonly ApprovalRecord[]): readonly SimilarCalls[] {
  const known = new Map(approvals.map((it) => [it, argumentsOf(it)]));
  const candidates = candidatesOf(known);
  const taken = new Set<ApprovalRecord>();
  const groups: SimilarCalls[] = [];
  for (const { differs, members } of [...candidates].sort((a, b) => b.members.length - a.members.length)) {
    const values = new Map<string, ApprovalRecord>();
    for (const it of members) {
      const value = known.get(it)?.get(differs) ?? '';
      // If two calls look the same, something that is not shown differs.
      if (!taken.has(it) && !values.has(value) && value.length <= shownMax) values.set(value, it);
    }
    if (values.size < 2) continue;
    for (const it of values.values()) taken.add(it);
    groups.push({ approvals: [...values.values()], differs, values: [...values.keys()] });
  }
  const alone = approvals.filter((it) => !taken.has(it));
  groups.push(...alone.map((it) => ({ approvals: [it], differs: null, values: [] })));
  const places = new Map(approvals.map((it, at) => [it, at]));
  const firstOf = ({ approvals: [first] }: SimilarCalls): number => (first && places.get(first)) ?? 0;
  return groups.sort((a, b) => firstOf(a) - firstOf(b));
}

interface Candidate {
  readonly differs: string;
  readonly members: ApprovalRecord[];
}

/** For each argument, the calls that are the same without it. */
function candidatesOf(known: ReadonlyMap<ApprovalRecord, Arguments | undefined>): Iterable<Candidate> {
  const byRest = new Map<string, Candidate>();
  const digestOf = createDigests();
  for (const [approval, named] of known) {
    if (!named) continue;
    const digests = [...named].map(([name, value]) => digestOf(JSON.stringify([name, value])));
    const all = digests.reduce((sum, it) => sum ^ it, digestOf(JSON.stringify(placeOf(approval))));
    for (const [at, differs] of [...named.keys()].entries()) {
      const key = `${all ^ (digests[at] ?? 0n)} ${differs}`;
      const candidate = byRest.get(key);
      if (candidate) candidate.members.push(approval);
      else byRest.set(key, { differs, members: [approval] });
    }
  }
  return byRest.values();
}

/** Digests under a key of their own: agents choose the arguments, and could make sums of known digests equal. */
function createDigests(): (text: string) => bigint {
  const key = randomBytes(32);
  const known = new Map<string, bigint>();
  return (text) => {
    const standing = known.get(text);
    if (standing !== undefined) return standing;
    const digest = BigInt(`0x${createHmac('sha256', key).update(text).digest('hex')}`);
    known.set(text, digest);
    return digest;
  };
}

/** The fields that must be the same in any case and do not stand in the call. */
const placeOf = (it: ApprovalRecord): readonly unknown[] => [
  it.agentId,
  it.ownAgentId,
  it.envName,
  it.toolName,
  it.operation,
  it.method,
  it.policyId,
  it.ruleId,
  it.reasonCodes,
  it.opensWebSocket,
];

/** The arguments of a call that can be seen whole; undefined where it cannot. */
function argumentsOf({ url, bodyPreview, bodyBytes }: ApprovalRecord): Arguments | undefined {
  const isWhole =
    Buffer.byteLength(bodyPreview) === bodyBytes && !`${url}${bodyPreview}`.includes('[REDACTED');
  const parsed = isWhole && !url.endsWith('…') ? URL.parse(url) : null;
  // Bytes that are no text are all shown as the same sign.
  if (!parsed || hasBrokenEscapes(parsed)) return undefined;
  const named = new Map<string, string>();
  const add = (name: string, value: string): void => {
    const isOwn = named.size < argumentsMax || named.has(name);
    const [place, text] = isOwn ? [name, value] : ['the rest', JSON.stringify([name, value])];
    named.set(place, named.has(place) ? `${named.get(place)}\n${text}` : text);
  };
  add('host', `${parsed.protocol}//${parsed.host}`);
  for (const [at, segment] of parsed.pathname.split('/').slice(1).entries()) add(`path ${at + 1}`, segment);
  for (const [name, value] of parsed.searchParams) add(`query ${name}`, value);
  if (parsed.hash !== '') add('fragment', parsed.hash);
  addBody(bodyPreview, add);
  return named;
}

const hasBrokenEscapes = ({ search, searchParams }: URL): boolean =>
  search.includes('%') && searchParams.toString().includes('%EF%BF%BD');

function addBody(text: string, add: (name: string, value: string) => void): void {
  if (text === '') return;
  const parsed = parseWhole(text);
  if (parsed) addValue(parsed.value, '$', 0, (path, leaf) => add(`body ${path}`, leaf));
  else add('body', text);
}

type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;
/** The types of TypeScript do not know the third argument of a reviver yet. */
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;

/**
 * The JSON of a text; undefined where it is none, has names twice, of which only the last value would be seen, or a number that is
 * read as another one.
 */
function parseWhole(text: string): { readonly value: unknown } | undefined {
  let members = 0;
  try {
    const value: unknown = parse(text, (_, it, { source }) => {
      if (typeof it === 'number' && String(it) !== source) throw new RangeError('The number is not exact.');
      if (typeof it === 'object' && it !== null && !Array.isArray(it)) members += Object.keys(it).length;
      return it;
    });
    const colons = text.replace(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1;
    return colons === members ? { value } : undefined;
  } catch {
    return undefined;
  }
}

function addValue(
  value: unknown,
  path: string,
  depth: number,
  add: (path: string, leaf: string) => void,
): void {
  const isNested = typeof value === 'object' && value !== null && depth < depthMax;
  if (!isNested) {
    add(path, JSON.stringify(value));
    return;
  }
  const entries = Object.entries(value);
  if (entries.length === 0) add(path, JSON.stringify(value));
  for (const [name, inner] of entries) {
    const step = Array.isArray(value)
      ? `[${name}]`
      : /^\w+$/.test(name)
        ? `.${name}`
        : `[${JSON.stringify(name)}]`;
    addValue(inner, path + step, depth + 1, add);
  }
}
