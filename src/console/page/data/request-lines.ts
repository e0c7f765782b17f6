import type { ShownFinding } from '../../../api/answers.ts';

/*
 * Shows the request of a trace as lines, with what was found where it was. A trace keeps no values. Of
 * headers and body only the places of findings are known, and all else stands as an ellipsis.
 */

interface MarkedLine {
  /** The mark of a line. In a sanitized call, `-` marks what came and `+` what went out. */
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

interface Request {
  readonly method: string;
  readonly url: string;
  readonly body_bytes?: number | undefined;
  readonly findings: readonly ShownFinding[];
  readonly isSanitized: boolean;
}

interface Node {
  readonly kinds: string[];
  readonly inner: Map<string, Node>;
}

const newNode = (): Node => ({ kinds: [], inner: new Map() });
const stepsMax = 32;
const step = /\.([A-Za-z_$][\w$-]*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/gy;

/** Returns the steps of `$.a[0]["b c"]`; undefined where it is no such path. */
function stepsOf(path: string): readonly string[] | undefined {
  if (!path.startsWith('$')) return undefined;
  const steps: string[] = [];
  step.lastIndex = 1;
  while (step.lastIndex < path.length) {
    const [whole, name, index, quoted] = step.exec(path) ?? [];
    if (whole === undefined || steps.length >= stepsMax) return undefined;
    steps.push(index === undefined ? JSON.stringify(name ?? quoted ?? '') : index);
  }
  return steps;
}

const isIndex = (name: string): boolean => /^\d/.test(name);

/** Returns a line of what was found at a place, or of a sanitized call two: what came, and what went out. */
function valueLines(lead: string, kinds: readonly string[], isSanitized: boolean): MarkedLine[] {
  const taken = [...new Set(kinds)].map((it) => `[REDACTED:${it}]`).join(' ');
  if (!isSanitized) return [{ mark: ' ', text: lead + taken }];
  return [
    { mark: '-', text: `${lead}••••••••` },
    { mark: '+', text: lead + taken },
  ];
}

function nodeLines(node: Node, lead: string, indent: string, isSanitized: boolean): MarkedLine[] {
  if (node.inner.size === 0) return valueLines(indent + lead, node.kinds, isSanitized);
  const isList = [...node.inner.keys()].every(isIndex);
  const deeper = `${indent}  `;
  const own = node.kinds.length === 0 ? [] : valueLines(`${deeper}… `, node.kinds, isSanitized);
  return [
    { mark: ' ', text: `${indent}${lead}${isList ? '[' : '{'}` },
    { mark: ' ', text: `${deeper}…` },
    ...own,
    ...[...node.inner].flatMap(([name, it]) =>
      nodeLines(it, isIndex(name) ? `#${name} ` : `${name}: `, deeper, isSanitized),
    ),
    { mark: ' ', text: `${indent}${isList ? ']' : '}'}` },
  ];
}

/** Returns the lines of a request: method and URL, headers with findings, and the body's outline. */
export function requestLines({ method, url, body_bytes, findings, isSanitized }: Request): MarkedLine[] {
  const body = newNode();
  const whole: string[] = [];
  const lines: MarkedLine[] = [{ mark: ' ', text: `${method} ${url}` }];
  const headers = new Map<string, string[]>();
  for (const { location, kind } of findings) {
    const [place = '', ...rest] = location.split(':');
    const name = rest.join(':');
    if (place === 'header') headers.set(name, [...(headers.get(name) ?? []), kind]);
    if (place !== 'body') continue;
    const steps = stepsOf(name);
    if (steps === undefined || steps.length === 0) {
      whole.push(kind);
      continue;
    }
    let node = body;
    for (const it of steps) {
      const next = node.inner.get(it) ?? newNode();
      node.inner.set(it, next);
      node = next;
    }
    node.kinds.push(kind);
  }
  for (const [name, kinds] of headers)
    lines.push(...valueLines(`${name || 'a header'}: `, kinds, isSanitized));
  if (body.inner.size > 0 || whole.length > 0) lines.push({ mark: ' ', text: '' });
  else if (body_bytes) lines.push({ mark: ' ', text: '' }, { mark: ' ', text: '…' });
  if (body.inner.size > 0) lines.push(...nodeLines(body, '', '', isSanitized));
  if (whole.length > 0) lines.push(...valueLines('… ', whole, isSanitized));
  return lines;
}
