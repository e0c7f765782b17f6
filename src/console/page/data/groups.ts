import type { Approval } from '../../../api/answers.ts';
import { readExact } from './exact-json.ts';

/*
 * Puts held calls that differ in one argument on one card. Agents write these calls, and whoever decides sees
 * one of them. So a call that may differ in anything else, seen or not, stands alone.
 */

interface Difference {
  /** Path of the argument in the body, such as `$.amount`, or `the address`. */
  readonly place: string;
  /** Values of the argument, one for each call in their order: the address, or a body's value as JSON. */
  readonly values: readonly string[];
}

export interface Group {
  readonly key: string;
  readonly approvals: readonly Approval[];
  /** The argument that differs; undefined for one call alone, and where all calls are the same. */
  readonly difference: Difference | undefined;
}

/** Paths and values of all arguments of a call, in their order. */
type Leaves = readonly (readonly [path: string, value: string])[];

const leavesMax = 400;
/** Characters of a value that differs, and (below) values of a card, so that all are shown whole. */
const valueLengthMax = 80;
const shownValuesMax = 60;

/**
 * Matches what stands for content that was taken out, cut off, or is no text. Calls may differ there unseen.
 */
const hidden = /\[REDACTED|…|\ufffd/;
/** Matches what leaves no mark of its own on a screen, more than one space included. */
const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}]|[^\S ]|\s{2}/u;

const plainName = /^[A-Za-z_]\w*$/;

/** Returns the arguments of a call; undefined where not all of them can be compared. */
function leavesOf({ alike, url, body_preview: text, body_bytes: bytes }: Approval): Leaves | undefined {
  if (alike === null || hidden.test(url) || hidden.test(text)) return undefined;
  const leaves: [string, string][] = [['the address', url]];
  const walk = (value: unknown, path: string): void => {
    if (leaves.length >= leavesMax) return;
    const inner = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    if (inner.length === 0) leaves.push([path, JSON.stringify(value)]);
    for (const [name, it] of inner) walk(it, path + stepTo(name, Array.isArray(value)));
  };
  if (bytes > 0 || text !== '') {
    const body = readExact(text);
    if (body === undefined) return undefined;
    walk(body, '$');
  }
  return leaves.length < leavesMax ? leaves : undefined;
}

function stepTo(name: string, isIndex: boolean): string {
  if (isIndex) return `[${name}]`;
  return plainName.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

/** Returns the index of the one leaf in which two calls differ; null for none, undefined for too many. */
function differenceOf(a: Leaves, b: Leaves): number | null | undefined {
  if (a.length !== b.length) return undefined;
  let found: number | null = null;
  for (const [index, [path, value]] of a.entries()) {
    const other = b[index];
    if (other?.[0] !== path) return undefined;
    if (other[1] === value) continue;
    if (found !== null) return undefined;
    found = index;
  }
  return found;
}

const isShownWhole = (value: string): boolean => value.length <= valueLengthMax && !unseen.test(value);

interface Open {
  readonly first: Leaves;
  place: number | null;
  /** Values at the place that differs. */
  readonly values: Set<string>;
  readonly leaves: Leaves[];
  readonly approvals: Approval[];
}

/** Takes a call into a group where all that differs will be seen. Tells whether it did. */
function join(group: Open, it: Approval, leaves: Leaves): boolean {
  const place = differenceOf(group.first, leaves);
  if (place === undefined) return false;
  if (place !== null) {
    if (group.place !== null && place !== group.place) return false;
    const values = [valueAt(group.first, place), valueAt(leaves, place)];
    if (!values.every(isShownWhole)) return false;
    if (group.values.size >= shownValuesMax && values.some((value) => !group.values.has(value))) return false;
    group.place = place;
    for (const value of values) group.values.add(value);
  }
  group.approvals.push(it);
  group.leaves.push(leaves);
  return true;
}

const valueAt = (leaves: Leaves, place: number): string => leaves[place]?.[1] ?? '';

/**
 * Returns all that a card shows of its first call, and what tells of its headers, which it may not show. None
 * of it may differ in another call of the card.
 */
const kindOf = (it: Approval): string =>
  JSON.stringify([
    ...[it.agent_id, it.env_name, it.method, it.tool_name, it.operation, it.policy_id, it.rule_id],
    ...[it.risk_band, it.reason_codes, it.findings, it.opens_websocket, it.alike],
  ]);

/** Returns the calls in groups, in the order of their first calls. Calls of the open card join no others. */
export function toGroups(approvals: readonly Approval[], openIds: readonly string[] = []): readonly Group[] {
  const known = new Map<string, Open[]>();
  const order: Open[] = [];
  for (const it of approvals) {
    const leaves = leavesOf(it);
    const kind = `${openIds.includes(it.approval_id)} ${kindOf(it)}`;
    const fitting = known.get(kind) ?? [];
    if (leaves && fitting.some((group) => join(group, it, leaves))) continue;
    const group: Open = {
      first: leaves ?? [],
      place: null,
      values: new Set(),
      leaves: [leaves ?? []],
      approvals: [it],
    };
    order.push(group);
    if (leaves) known.set(kind, [...fitting, group]);
  }
  return order.map(({ first, place, leaves, approvals: own }) => ({
    key: own[0]?.approval_id ?? '',
    approvals: own,
    difference:
      place === null
        ? undefined
        : { place: first[place]?.[0] ?? '', values: leaves.map((it) => valueAt(it, place)) },
  }));
}
