import { computed, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Approval, Listing } from '../../../api/answers.ts';
import { get, may } from './api.ts';
import { heard } from './changes.ts';

/* Keeps the page's one list of waiting calls. It is read on changes and on a timer, since calls expire. */

const everyMs = 10_000;
/** Waiting calls that are read, more than a person can look through. */
const heldMax = 200;

export const pending = signal<readonly Approval[] | undefined>(undefined);
export const pendingProblem = signal<Error | undefined>(undefined);
export const waiting = computed(() => pending.value?.length ?? 0);

export const mayReadPending = (): boolean => may('activity:read', 'approvals:decide');

/** Reads the waiting calls now. */
export async function readPending(): Promise<void> {
  try {
    const { items } = await get<Listing<Approval>>('/v1/approvals', { status: 'pending', limit: heldMax });
    // The list changes only where something differs, so that nothing is drawn in vain.
    if (JSON.stringify(items) !== JSON.stringify(pending.value)) pending.value = items;
    pendingProblem.value = undefined;
  } catch (error) {
    pendingProblem.value = error as Error;
  }
}

/** Keeps the waiting calls fresh while the frame stands. */
export function usePending(): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden && mayReadPending()) void readPending();
    }, everyMs);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    if (mayReadPending()) void readPending();
  }, [heard.approval.value]);
}
