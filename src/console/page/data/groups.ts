import type { Approval } from './types.ts';

/* Held calls that differ in one argument stand on one card. */

export interface Difference {
  /** `$.amount`, or `the address`. */
  readonly place: string;
  /** Of each call, in their order. */
  readonly values: readonly string[];
}

export interface Group {
  readonly key: string;
  readonly approvals: readonly Approval[];
  /** Undefined for one call alone, and where all are the same. */
  readonly difference: Difference | undefined;
}

type Leaves = ReadonlyMap<string, string>;

const leavesMax = 400;

/** The texts and numbers of a body by their paths; of a body that is no JSON, the whole. */
function leavesOf(it: Approval): Leaves {
  const leaves = new Map<string, string>([['the address', it.url]]);
  let body: unknown = it.body_preview;
  try {
    body = JSON.parse(it.body_preview);
  } catch {
    // A preview that was cut, or no JSON: it counts as one text.
  }
  const walk = (value: unknown, path: string): void => {
    if (leaves.size >= leavesMax) return;
    if (typeof value !== 'object' || value === null) leaves.set(path, String(value));
    else
      for (const [name, inner] of Object.entries(value))
        walk(inner, Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`);
  };
  walk(body, typeof body === 'object' ? '$' : 'the body');
  return leaves;
}

/** Where two calls differ: one place, none (null), or too many (undefined). */
function differenceOf(a: Leaves, b: Leaves): string | null | undefined {
  if (a.size !== b.size || a.size >= leavesMax) return undefined;
  let found: string | null = null;
  for (const [path, value] of a) {
    const other = b.get(path);
    if (other === undefined) return undefined;
    if (other === value) continue;
    if (found !== null) return undefined;
    found = path;
  }
  return found;
}

interface Open {
  readonly first: Leaves;
  place: string | null;
  readonly leaves: Leaves[];
  readonly approvals: Approval[];
}

/** The calls in groups, in the order of the first of each. */
export function toGroups(approvals: readonly Approval[]): readonly Group[] {
  const open = new Map<string, Open[]>();
  const order: Open[] = [];
  for (const it of approvals) {
    const kind = [it.agent_id, it.env_name, it.method, it.tool_name, it.operation, it.rule_id].join(' ');
    const leaves = leavesOf(it);
    const known = open.get(kind) ?? [];
    open.set(kind, known);
    const fitting = known.find((group) => {
      const place = differenceOf(group.first, leaves);
      if (place === undefined) return false;
      if (place !== null && group.place !== null && place !== group.place) return false;
      group.place ??= place;
      return true;
    });
    if (fitting) {
      fitting.approvals.push(it);
      fitting.leaves.push(leaves);
      continue;
    }
    const group: Open = { first: leaves, place: null, leaves: [leaves], approvals: [it] };
    known.push(group);
    order.push(group);
  }
  return order.map(({ place, leaves, approvals: own }) => ({
    key: own[0]?.approval_id ?? '',
    approvals: own,
    difference: place === null ? undefined : { place, values: leaves.map((it) => it.get(place) ?? '') },
  }));
}
