import { z } from 'zod';
import { bands, confidences, dataClasses, decisions } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
import { parseUuid } from '../../core/ids.ts';
import { keepsDirection, keepsDirectionRule, type SafeName } from '../../core/safe-name.ts';
import { cutPage, notACursor } from '../../state/rules/cursor.ts';
import type { Page, Paged } from '../../state/store.ts';

/* Fields that requests and answers of several endpoints share. */

export const tenantId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 _ -');
export const ofTenant = { tenant_id: tenantId.nullish() };
/** A text for people. It has no half of a surrogate pair, which not every reader of JSON takes. */
export const text = z
  .string()
  .refine((it) => it.isWellFormed(), 'must be Unicode: it has half of a surrogate pair')
  .refine((it) => keepsDirection.test(it), keepsDirectionRule);
/** A line of text for people, without control characters. */
export const title = text
  .trim()
  .min(1)
  .max(128)
  .regex(/^\P{Cc}*$/u, 'must not have control characters');
export const freeText = text.max(1024);
export const envName = z.string().min(1).max(128);
export const uuid = z
  .string()
  .refine((text) => parseUuid(text) !== undefined, 'must be a UUID')
  .transform((text) => text.toLowerCase());
export const band = z.enum(bands);
export const decision = z.enum(decisions);
/** A finding of a call, without its text. */
export const finding = z.object({
  class: z.enum(dataClasses),
  kind: z.string(),
  location: z.string(),
  confidence: z.enum(confidences),
});
export const signal = z.object({
  engine: z.string(),
  name: z.string(),
  score: z.number(),
  details: z.string(),
});
/** A rule that matched a call. */
export const matchedRule = z.object({
  policy_id: z.string(),
  policy_name: z.string(),
  version: z.int(),
  rule_id: z.string(),
  action: z.string(),
});
/** A time in answers (ISO 8601, in UTC). */
export const time = z.iso.datetime();
/** A time in requests (ISO 8601 with any offset), parsed to milliseconds. */
export const instant = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

export const toIso = (ms: number): string => new Date(ms).toISOString();
export const toIsoOrNull = (ms: number | null): string | null => (ms === null ? null : toIso(ms));

export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  cursor: z.string().min(1).max(512).optional(),
};

export const toPage = ({ limit, cursor }: { limit: number; cursor?: string | undefined }): Page => ({
  limit,
  cursor,
});

export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), next_cursor: z.string().nullable() });

/** Returns the fields of a route that lists such items in pages. */
export const listing = <T extends z.ZodType>(item: T) =>
  ({ query: z.object(pageQuery), answer: pageOf(item), isListing: true }) as const;

export const toListAnswer = <T, U>(
  { items, nextCursor }: Paged<T>,
  show: (item: T, place: number) => U,
): { items: U[]; next_cursor: string | null } => ({ items: items.map(show), next_cursor: nextCursor });

/**
 * Returns a page of a list that is in memory as a whole, ordered by `placeOf`, which must be unique. Throws
 * where the cursor is not one of such a list.
 */
export function pageByPlace<T>(
  all: readonly T[],
  placeOf: (item: T) => string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Paged<T> {
  const after = cursor === undefined ? undefined : Buffer.from(cursor, 'base64url').toString();
  if (after !== undefined && toCursor(after) !== cursor) throw notACursor();
  const rest = all
    .filter((it) => after === undefined || placeOf(it) > after)
    .sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  return cutPage(rest, limit, (last) => toCursor(placeOf(last)));
}

const toCursor = (place: string): string => Buffer.from(place).toString('base64url');

/** Returns the UUID in a parameter of the path. Throws NOT_FOUND for any other text, which names nothing. */
export function idOf(
  params: Readonly<Record<string, string | undefined>>,
  name: string,
  what: string,
): string {
  const id = parseUuid(params[name] ?? '');
  if (!id) throw missing(what);
  return id;
}

export const missing = (what: string): GatewayError =>
  new GatewayError('NOT_FOUND', `There is no such ${what}.`);

/** Returns the fields that are not undefined, so that what a request does not say is absent inside. */
export function present<T extends Readonly<Record<string, unknown>>>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

/** A name that a caller chose, as answers show it. */
export const safeName = z.string() as unknown as z.ZodType<SafeName, SafeName>;
