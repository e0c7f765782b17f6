import { type Signal, signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { apiUrl } from './api.ts';
import { useStream } from './stream.ts';

/* Counts changes by area, as the server names it. The page then reads anew what it shows of the area. */

const areas = ['approval', 'incident', 'agent', 'tenant', 'policy', 'key', 'credential', 'session'] as const;
export type Area = (typeof areas)[number];

/** Counts of the changes that were heard of, by area. */
export const heard = Object.fromEntries(areas.map((it) => [it, signal(0)])) as Readonly<
  Record<Area, Signal<number>>
>;

/** Listens for changes while the frame stands. Tells whether it is connected. */
export function useChanges(): boolean {
  const [isOpen, setOpen] = useState(false);
  const count = (area: Area) => () => {
    heard[area].value += 1;
  };
  const all = () => {
    for (const area of areas) heard[area].value += 1;
  };
  const listeners = { ...Object.fromEntries(areas.map((it) => [it, count(it)])), gap: all };
  useStream(apiUrl('/v1/events'), listeners, setOpen);
  return isOpen;
}
