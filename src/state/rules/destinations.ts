import { hash } from 'node:crypto';
import type { RecordedCall } from '../store.ts';

/** The limit of an agent's destinations; above it the oldest eighth is forgotten. */
export const destinationsMax = 4_096;

/**
 * The length up to which a destination is known by its own name. A longer one is known by its hash, since
 * names come from requests.
 */
const plainLengthMax = 128;

/** Returns the name under which a destination is known. It is never empty. */
export const destinationName = (destination: string): string =>
  destination.length <= plainLengthMax && destination !== ''
    ? destination
    : `sha256:${hash('sha256', destination)}`;

/** Returns the names of what the call has touched; none where it was not let out. */
export const touchedBy = (
  call: Pick<RecordedCall, 'decision' | 'destination' | 'names'>,
): readonly string[] =>
  wasLetOut(call) ? [call.destination, ...(call.names ?? [])].map(destinationName) : [];

/** Tells whether a call was let out. A denied or held call has touched nothing. */
export const wasLetOut = ({ decision }: Pick<RecordedCall, 'decision'>): boolean =>
  decision === 'ALLOW' || decision === 'SANITIZE';
