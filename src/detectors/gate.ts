import { blockFlags, type Outline, type Stretch, stretchesOf } from '../scan/outline.ts';
import type { Detector } from './detector.ts';
import { type Leads, runLengthMin } from './pattern-facts.ts';

/*
 * Most words say something only beside something else: "passport" beside a number, "netlify" beside a key. Prose has neither, so such
 * words are looked for only around what their rules cannot match without: a digit, or a run of characters as tokens have them.
 * Which of the two it is, and how far away, is read off the patterns.
 */

/** What a rule cannot match without. */
export type GateKind = keyof Leads;

export interface Gate {
  readonly kind: GateKind;
  /** How far before and behind it a word of the rule may stand, in bytes. */
  readonly before: number;
  readonly after: number;
}

/** A rule whose words may stand farther away is not worth it. */
const distanceMax = 512;

/** Undefined where the rule may match without either, or too far away from it. */
export function gateOf({ leads, window, anchors, keywords }: Detector): Gate | undefined {
  const wordLength = Math.max(...[...anchors, ...keywords].map((word) => Buffer.byteLength(word)));
  const gates = (['digit', 'token'] as const).flatMap((kind): Gate[] => {
    const lead = leads[kind];
    if (lead === undefined) return [];
    return [{ kind, before: lead + window.after + wordLength, after: window.before + wordLength }];
  });
  return gates.find(({ before, after }) => Math.max(before, after) <= distanceMax);
}

/** The regions of a text of `length` bytes that are so near to what the gate asks for; they do not overlap. */
export function regionsOf(outline: Outline, length: number, gate: Gate): readonly Stretch[] {
  // A run is told where its fourteenth byte stands.
  const before = gate.before + (gate.kind === 'token' ? runLengthMin - 1 : 0);
  return stretchesOf(outline, blockFlags[gate.kind], length, { before, after: gate.after });
}
