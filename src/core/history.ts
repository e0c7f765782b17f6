import type { DataClass } from './finding.ts';

/*
 * The past of a call: what is usual for its agent, what is held against the agent, and what was seen in its
 * tenant.
 */

/**
 * The behaviour of an agent so far, reduced to what the present call can be compared with. Only calls that
 * were let out count.
 */
export interface Habits {
  readonly calls: number;
  /** The time of the first call; 0 before it. */
  readonly firstMs: number;
  /** Calls in this hour of the day (UTC), in the one before and in the one after. */
  readonly callsAroundHour: number;
  /** Calls with bodies: their number, the sum of their size classes, and the sum of the squares. */
  readonly sized: number;
  readonly sizeSum: number;
  readonly sizeSquares: number;
  /** Ten-minute windows with calls before the running one, and the calls in them. */
  readonly windows: number;
  readonly windowCalls: number;
  /** Calls admitted in the last ten minutes, this one included. */
  readonly lately: number;
  /**
   * Writes to the same tool in the last minute, this call included; at most 10. It is 0 for a call that
   * reads.
   */
  readonly mutations: number;
}

export const noHabits: Habits = Object.freeze({
  ...{ calls: 0, firstMs: 0, callsAroundHour: 0, sized: 0, sizeSum: 0, sizeSquares: 0 },
  ...{ windows: 0, windowCalls: 0, lately: 0, mutations: 0 },
});

/**
 * Returns the size class of a body, in eighths of a doubling: each class is a tenth larger than the one
 * before. No body gives 0.
 */
export const sizeClassOf = (bytes: number): number => Math.round(8 * Math.log2(1 + bytes));

/*
 * The usual size of an agent's bodies is known after `sizedMin` of them. A body is unusual only where it is
 * more than `sizeStepMin` size classes above their mean.
 */
export const sizedMin = 20;
export const sizeStepMin = 24;

/** Distinct numbers of 48 bits, in the order of the text (`inspect/fingerprint/shingles.ts`). */
export type Shingles = Float64Array;

const shingleBytes = 6;
const shingleText = /^(?:[\w-]{8})*$/;

/** Returns shingles in base64url, 8 characters for each. */
export function shinglesToText(shingles: Shingles): string {
  const bytes = Buffer.alloc(shingles.length * shingleBytes);
  for (const [i, shingle] of shingles.entries()) bytes.writeUIntBE(shingle, i * shingleBytes, shingleBytes);
  return bytes.toString('base64url');
}

/** Returns the shingles that `shinglesToText` wrote; none where the text is not of that form. */
export function shinglesFromText(text: string): Shingles {
  const bytes = Buffer.from(shingleText.test(text) ? text : '', 'base64url');
  const shingles = new Float64Array(bytes.length / shingleBytes);
  for (let i = 0; i < shingles.length; i += 1) shingles[i] = bytes.readUIntBE(i * shingleBytes, shingleBytes);
  return shingles;
}

/** Something that was held against an agent. */
export interface TrustMark {
  readonly cause: 'denial' | 'analyst-denial' | 'threat' | 'anomaly';
  /** The trust that was lost, in ten-thousandths of the whole trust. */
  readonly parts: number;
  readonly atMs: number;
  readonly traceId: string;
  /** The trust that was left afterwards, in ten-thousandths. The state notes it. */
  readonly leftParts?: number;
}

/** Something that was seen in a tenant and may explain a later call. */
export type Sighting = SensitiveRead | SeenSecrets | CreatedPrincipal | SeenOrders;

/** An answer with something sensitive, given to an agent. */
export interface SensitiveRead extends SightingOf<'read'> {
  readonly host: string;
  /** The organisation, account or bucket at that host; absent where there is none. */
  readonly account?: string;
  /**
   * The answer had at most two things of each class, no credential, and no sensitive source. It may well be
   * sent back.
   */
  readonly isSlight?: true;
  readonly classes: readonly DataClass[];
  /**
   * Numbers by which the content is recognised (`inspect/fingerprint/shingles.ts`); empty where only the
   * classes are known.
   */
  readonly shingles: Shingles;
}

/** Credentials in a call of the agent, or in an answer to it, as keyed hashes. */
export interface SeenSecrets extends SightingOf<'secrets'> {
  readonly hashes: readonly string[];
  /** An answer gave the values out as tokens. They may be used for the first time anywhere. */
  readonly isGranted?: true;
  /** The registrable domains that the values came from and went to. A use there is not the first one. */
  readonly cameFrom?: string;
  readonly wentTo?: string;
}

/** A person, or something that can act, that was added to those who may be given rights. */
export interface CreatedPrincipal extends SightingOf<'principal-created'> {
  readonly toolName: string;
  readonly operation: string;
}

/** An answer that gave orders to the agent that read it (prompt injection). */
export type SeenOrders = SightingOf<'orders'>;

interface SightingOf<Kind extends string> {
  readonly kind: Kind;
  readonly atMs: number;
  readonly agentId: string;
  readonly traceId: string;
}

/** The events of one tenant in the last ten minutes. */
export interface Sightings {
  /** All events, oldest first. */
  readonly all: readonly Sighting[];
  /** Some of the events are reads. */
  readonly hasReads: boolean;
  /** Returns the reads whose content had this shingle, oldest first. */
  readsWith(shingle: number): readonly SensitiveRead[];
}

const none: readonly never[] = Object.freeze([]);

export const noSightings: Sightings = Object.freeze({ all: none, hasReads: false, readsWith: () => none });

/** Facts from earlier calls about an agent and about what its call does. */
export interface CallHistory {
  readonly isNewDestination: boolean;
  readonly isNewHost: boolean;
  /** The agent knows the tool, but has never called this operation of it. */
  readonly isNewOperation: boolean;
  /**
   * The names that are new to the agent, among those that the call touches: host, tool, operation. Letting
   * the call out makes them known.
   */
  readonly newNames: readonly string[];
  readonly habits: Habits;
  /** The trust in the agent, 0 to 1. `trustMarks` are the last things that were held against it. */
  readonly trustScore: number;
  readonly trustMarks: readonly TrustMark[];
  readonly sightings: Sightings;
}

/** The history of an agent about whom nothing is known. */
export const noHistory: CallHistory = Object.freeze({
  ...{ isNewDestination: false, isNewHost: false, isNewOperation: false, newNames: none },
  ...{ habits: noHabits, trustScore: 1, trustMarks: none, sightings: noSightings },
});
