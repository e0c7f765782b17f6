import { hash } from 'node:crypto';
import type { RecordedCall } from './store.ts';

/** Of one agent; where there are more, an eighth goes, those first that were seen first. */
export const destinationsMax = 4_096;

/** A longer one is known by its hash: names come from requests. */
const plainLengthMax = 128;

/** Under what name a destination is known. Never empty. */
export const destinationName = (destination: string): string =>
  destination.length <= plainLengthMax && destination !== ''
    ? destination
    : `sha256:${hash('sha256', destination)}`;

/** A name that an agent has touched, as it is known. */
export interface Touch {
  readonly agentId: string;
  readonly name: string;
}

/** What the call has touched; nothing where it was not let out. The destination is that of its agent, all else of the agent of its key. */
export function touchesOf(
  call: Pick<RecordedCall, 'agentId' | 'ownAgentId' | 'decision' | 'destination' | 'names'>,
): readonly Touch[] {
  if (!wasLetOut(call)) return [];
  const { agentId, names = [] } = call;
  const ownAgentId = ownAgentOf(call);
  return [
    { agentId, name: destinationName(call.destination) },
    ...names.map((name) => ({ agentId: ownAgentId, name: destinationName(name) })),
  ];
}

/** The agent of the key that made the call: whose habits and trust it counts for, whatever agent it names. */
export const ownAgentOf = ({ ownAgentId, agentId }: Pick<RecordedCall, 'agentId' | 'ownAgentId'>): string =>
  ownAgentId ?? agentId;

/** What is denied or held has touched nothing. */
export const wasLetOut = ({ decision }: Pick<RecordedCall, 'decision'>): boolean =>
  decision === 'ALLOW' || decision === 'SANITIZE';
