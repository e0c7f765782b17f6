import { signal } from '@preact/signals';

/* Writes times as people say them. One clock ticks for the whole page. */

/** The present in milliseconds, renewed each second while the page is seen. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'narrow' });
const steps: readonly [unit: Intl.RelativeTimeFormatUnit, ms: number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

/** Returns a time from now, such as "3 min. ago" or "in 2 hr." */
export function toRelative(atMs: number, nowMs: number): string {
  const distance = atMs - nowMs;
  if (Math.abs(distance) < 5000) return 'now';
  for (const [unit, ms] of steps)
    if (Math.abs(distance) >= ms) return relative.format(Math.trunc(distance / ms), unit);
  return 'now';
}

const day = { day: 'numeric', month: 'short' } as const;
const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
const absolute = new Intl.DateTimeFormat('en-GB', {
  ...day,
  ...clock,
  year: 'numeric',
  timeZoneName: 'short',
});
const ofToday = new Intl.DateTimeFormat('en-GB', clock);
const ofOtherDays = new Intl.DateTimeFormat('en-GB', { ...day, hour: '2-digit', minute: '2-digit' });

/** Returns a time such as "29 Nov 2026, 14:39:26 UTC", in the browser's zone; '' for what is no time. */
export const toAbsolute = (atMs: number): string => (Number.isNaN(atMs) ? '' : absolute.format(atMs));

const ofDays = new Intl.DateTimeFormat('en-GB', { ...day, year: 'numeric', timeZone: 'UTC' });

/** Returns a day such as "1 Dec 2026", in UTC, by which periods are counted. */
export const toDay = (atMs: number): string => ofDays.format(atMs);

/** Returns a time of today such as "14:39:26", or one of another day such as "28 Nov, 14:39". */
export function toClock(atMs: number, nowMs: number): string {
  const isToday = new Date(atMs).toDateString() === new Date(nowMs).toDateString();
  return (isToday ? ofToday : ofOtherDays).format(atMs);
}

/** Returns the time that is left, such as "9:04" or "1:02:09"; never below zero. */
export function toCountdown(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1000));
  const two = (value: number): string => String(value).padStart(2, '0');
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}
