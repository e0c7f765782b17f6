import type { DataClass } from './finding.ts';

/*
 * The nouns of what came before a call. These are what is usual for its agent, what is held against it, and
 * what was seen in its tenant.
 */

/**
 * The behaviour of an agent so far, reduced to what the present call can be compared with. Only calls that
 * were let out count.
 */
export interface Habits {
  readonly calls: number;
  /** 0 before the first. */
  readonly firstMs: number;
  /** In this hour of the day (UTC), the one before and the one after. */
  readonly callsAroundHour: number;
  /** Calls with bodies: their number, the sum of their size classes, and the sum of the squares. */
  readonly sized: number;
  readonly sizeSum: number;
  readonly sizeSquares: number;
  /** Ten-minute windows with calls before the running one, and the calls in them. */
  readonly windows: number;
  readonly windowCalls: number;
  /** Admitted in the last ten minutes, this one included. */
  readonly lately: number;
  /** Writes to the same tool in the last minute, this call included; at most 10. 0 for a call that reads. */
  readonly mutations: number;
}

export const noHabits: Habits = Object.freeze({
  ...{ calls: 0, firstMs: 0, callsAroundHour: 0, sized: 0, sizeSum: 0, sizeSquares: 0 },
  ...{ windows: 0, windowCalls: 0, lately: 0, mutations: 0 },
});

/** Eighths of bits: a class is a tenth larger than the one before. 0 for no body. */
export const sizeClassOf = (bytes: number): number => Math.round(8 * Math.log2(1 + bytes));

/** After so many bodies their usual size is known. So much above the mean, in size classes, is unusual. */
export const sizedMin = 20;
export const sizeStepMin = 24;

/** Distinct numbers of 48 bits, in the order of the text: see `inspect/fingerprint/shingles.ts`. */
export type Shingles = Float64Array;

const shingleBytes = 6;
const shingleText = /^(?:[\w-]{8})*$/;

/** Base64url, 8 characters for each shingle. */
export function shinglesToText(shingles: Shingles): string {
  const bytes = Buffer.alloc(shingles.length * shingleBytes);
  for (const [i, shingle] of shingles.entries()) bytes.writeUIntBE(shingle, i * shingleBytes, shingleBytes);
  return bytes.toString('base64url');
}

/** None where the text is not one of `shinglesToText`. */
export function shinglesFromText(text: string): Shingles {
  const bytes = Buffer.from(shingleText.test(text) ? text : '', 'base64url');
  const shingles = new Float64Array(bytes.length / shingleBytes);
  for (let i = 0; i < shingles.length; i += 1) shingles[i] = bytes.readUIntBE(i * shingleBytes, shingleBytes);
  return shingles;
}

/** Something that was held against an agent. */
export interface TrustMark {
  readonly cause: 'denial' | 'analyst-denial' | 'threat' | 'anomaly';
  /** Ten-thousandths of the whole trust. */
  readonly parts: number;
  readonly atMs: number;
  readonly traceId: string;
  /** The trust that was left then; the state notes it. */
  readonly leftParts?: number;
}

/** Something that was seen, and that may explain a later call of the tenant. */
export type Sighting = SensitiveRead | SeenSecrets | CreatedPrincipal;

/** An agent was answered something sensitive. */
export interface SensitiveRead extends SightingOf<'read'> {
  readonly host: string;
  /** The organisation, account or bucket there; absent where there is none. */
  readonly account?: string;
  /** It has at most two things of a class, no credential, and no sensitive source: it may well go back. */
  readonly isSlight?: true;
  readonly classes: readonly DataClass[];
  /**
   * Numbers by which the content is recognised (`inspect/fingerprint/shingles.ts`); empty where only the
   * classes are known.
   */
  readonly shingles: Shingles;
}

/** Credentials were in a call of the agent, or in an answer to it, as keyed hashes. */
export interface SeenSecrets extends SightingOf<'secrets'> {
  readonly hashes: readonly string[];
  /** An answer gave them out as tokens: they may be used first anywhere. */
  readonly isGranted?: true;
  /** The registrable domain that the values came from or went to: there it is no first use. */
  readonly cameFrom?: string;
  readonly wentTo?: string;
}

/** Somebody, or something that can act, was added to those who may be given rights. */
export interface CreatedPrincipal extends SightingOf<'principal-created'> {
  readonly toolName: string;
  readonly operation: string;
}

interface SightingOf<Kind extends string> {
  readonly kind: Kind;
  readonly atMs: number;
  readonly agentId: string;
  readonly traceId: string;
}

/** The events that one tenant had in the last ten minutes. */
export interface Sightings {
  /** Oldest first. */
  readonly all: readonly Sighting[];
  /** Tells whether any of them are reads. */
  readonly hasReads: boolean;
  /** The reads that left this shingle, oldest first. */
  readsWith(shingle: number): readonly SensitiveRead[];
}

const none: readonly never[] = Object.freeze([]);

export const noSightings: Sightings = Object.freeze({ all: none, hasReads: false, readsWith: () => none });

/** Facts from earlier calls about an agent and about what its call does. */
export interface CallHistory {
  readonly isNewDestination: boolean;
  readonly isNewHost: boolean;
  /** The agent knows the tool, but has never done this with it. */
  readonly isNewOperation: boolean;
  /** Names of these that the agent has touched with this call, where it is let out. */
  readonly newNames: readonly string[];
  readonly habits: Habits;
  /** 0 to 1, and the last that was held against the agent. */
  readonly trustScore: number;
  readonly trustMarks: readonly TrustMark[];
  readonly sightings: Sightings;
}

/** That of an agent of whom nothing is known. */
export const noHistory: CallHistory = Object.freeze({
  ...{ isNewDestination: false, isNewHost: false, isNewOperation: false, newNames: none },
  ...{ habits: noHabits, trustScore: 1, trustMarks: none, sightings: noSightings },
});
