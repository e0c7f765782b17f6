import { hash } from 'node:crypto';
import type { RecordedCall } from '../store.ts';

/** Destinations of one agent; above this an eighth goes, oldest first. */
export const destinationsMax = 4_096;

/** A longer one is known by its hash: names come from requests. */
const plainLengthMax = 128;

/** Under what name a destination is known. Never empty. */
export const destinationName = (destination: string): string =>
  destination.length <= plainLengthMax && destination !== ''
    ? destination
    : `sha256:${hash('sha256', destination)}`;

/** Returns the names of what the call has touched; none where it was not let out. */
export const touchedBy = (
  call: Pick<RecordedCall, 'decision' | 'destination' | 'names'>,
): readonly string[] =>
  wasLetOut(call) ? [call.destination, ...(call.names ?? [])].map(destinationName) : [];

/** A denied or held call has touched nothing. */
export const wasLetOut = ({ decision }: Pick<RecordedCall, 'decision'>): boolean =>
  decision === 'ALLOW' || decision === 'SANITIZE';
