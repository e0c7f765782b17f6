import type http from 'node:http';

/* Rows of the table in `match-keys.test.ts`: a rule, and the calls that it must and must not hold for. */

export interface Group {
  readonly is: string;
  /** Goes before calls that name no host. */
  readonly at?: string;
  readonly match: Readonly<Record<string, unknown>>;
  readonly condition?: Readonly<Record<string, unknown>>;
  /** DENY unless told. Behind a rule that allows stands one that denies everything. */
  readonly action?: 'DENY' | 'ALLOW' | 'SANITIZE' | 'REQUIRE_APPROVAL' | 'OPEN_INCIDENT';
  /** Calls that the rule is about, plain or in disguise. */
  readonly holds: readonly Row[];
  /** Calls close by that it is not about. */
  readonly passes: readonly Row[];
  /** Calls in a dress that no honest client wears: the rule holds, or they are refused for what they are. */
  readonly stops?: readonly Row[];
}

/** What is special about a call, and its method and URL as they go onto the wire. */
export type Row = readonly [is: string, call: string, content?: Content];

export interface Content {
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
}

export const typed = (type: string, body: string): Content => ({ headers: { 'content-type': type }, body });

export const json = (value: unknown): Content => typed('application/json', JSON.stringify(value));

/** JSON as it is written here, which `JSON.stringify` would not make. */
export const rawJson = (text: string): Content => typed('application/json', text);

export const form = (text: string): Content => typed('application/x-www-form-urlencoded', text);

export const text = (body: string): Content => typed('text/plain', body);

export const utf16 = (value: unknown): Content => ({
  headers: { 'content-type': 'application/json; charset=utf-16le' },
  body: Buffer.from(JSON.stringify(value), 'utf16le'),
});

/** Parts that each have their own head. */
export function multipart(subtype: string, parts: readonly string[]): Content {
  const body = [...parts.map((part) => `--part-of-a-test\r\n${part}\r\n`), '--part-of-a-test--\r\n'].join('');
  return typed(`multipart/${subtype}; boundary=part-of-a-test`, body);
}

/** A request as a part of a batch (RFC 9112, 10.2). */
export const httpPart = (line: string, body = ''): string =>
  `Content-Type: application/http\r\nContent-ID: <x>\r\n\r\n${line}\r\nContent-Type: application/json\r\n\r\n${body}`;

/** With a field among the headers besides. */
export const withHeader = (
  name: string,
  value: string | readonly string[],
  content: Content = {},
): Content => ({
  ...content,
  headers: { ...content.headers, [name]: value },
});

/** `count` items that are alike but for one, which stands neither first nor last. */
export const among = <T>(count: number, plain: T, odd: T): readonly T[] => [
  ...Array<T>(count - 4).fill(plain),
  odd,
  ...Array<T>(3).fill(plain),
];

/** As node writes them. */
export const outgoing = ({ headers = {} }: Content): http.OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value as string | string[]]));
