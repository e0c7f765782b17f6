import { InvalidArgumentError } from 'commander';

/* Reads times as people type them: `1h` for an hour ago or ahead, a date, or a time of RFC 3339. */

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

const forms = 'It must be as 30m, 1h, 7d, 2030-01-31 or 2030-01-31T12:00:00Z.';

function timeOf(text: string, direction: 1 | -1, nowMs: number): string {
  const [, count, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (count !== undefined)
    return new Date(nowMs + direction * Number(count) * (unitMs[unit] ?? 0)).toISOString();
  const isTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text);
  const ms = isTime ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new InvalidArgumentError(forms);
  return new Date(ms).toISOString();
}

/** Returns a time in the past as the API has times; `1h` is an hour ago. */
export const pastTime = (text: string): string => timeOf(text, -1, Date.now());

/** Returns a time to come as the API has times; `1h` is an hour from now. */
export const comingTime = (text: string): string => timeOf(text, 1, Date.now());

/** Returns a span of time in seconds. */
export function spanArgument(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('It must be as 90s, 10m, 8h or 1d.');
  return (Number(count) * (unitMs[unit] ?? 0)) / 1000;
}
