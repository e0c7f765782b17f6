import * as z from 'zod';
import type { Features } from './features.ts';
import { readData } from './lexicon.ts';

/* Weighs features: a logistic regression for each category, with trained weights. */

export const categories = [
  'EXFILTRATION',
  'PRIVILEGE_ESCALATION',
  'DESTRUCTIVE',
  'LATERAL_MOVEMENT',
] as const;
export type Category = (typeof categories)[number];

const weight = z.number().min(-20).max(20);
const categorySchema = z.strictObject({ bias: weight, weights: z.record(z.string(), weight) });
const modelSchema = z.strictObject({
  EXFILTRATION: categorySchema,
  PRIVILEGE_ESCALATION: categorySchema,
  DESTRUCTIVE: categorySchema,
  LATERAL_MOVEMENT: categorySchema,
});

export type IntentWeights = z.output<typeof modelSchema>;

export interface Model {
  /**
   * Tells whether features may speak for a category. Nearly always they do not, and then no score reaches
   * 0.5.
   */
  maySpeak(found: readonly number[]): boolean;
  /** Returns how surely features speak for a category, from 0 to 1. */
  score(category: Category, found: readonly number[]): number;
  /** Returns the names of at most three features that speak for it most, the strongest first. */
  reasons(category: Category, found: readonly number[]): string[];
}

const reasonsMax = 3;
/** The rounding error of a sum, since computing a score adds in another order. */
const tolerance = 1e-6;

/** Reads weights. Throws an Error that names file and mistake. */
export const loadWeights = (file: string): IntentWeights => readData(file, modelSchema);

/** Creates a model. Throws an Error for the weight of an unknown feature. */
export function createModel(weights: IntentWeights, features: Features): Model {
  const tables = Object.fromEntries(
    categories.map((category) => [category, toTable(weights[category].weights, features)]),
  ) as Record<Category, Float64Array>;
  const [exfiltration, escalation, destruction, movement] = categories.map(
    (category) => weights[category].bias + tolerance,
  ) as [number, number, number, number];
  // The weights of a feature for all categories stand together, because few features have any.
  const rowOf = new Uint16Array(features.size);
  const rows = [0, 0, 0, 0];
  for (let feature = 0; feature < features.size; feature++) {
    const row = categories.map((category) => tables[category][feature] as number);
    if (row.every((weight) => weight === 0)) continue;
    rowOf[feature] = rows.length;
    rows.push(...row);
  }
  const weightsOf = Float64Array.from(rows);
  return {
    maySpeak(found) {
      let first = exfiltration;
      let second = escalation;
      let third = destruction;
      let fourth = movement;
      for (let index = 0; index < found.length; index++) {
        const row = rowOf[found[index] as number] as number;
        if (row === 0) continue;
        first += weightsOf[row] as number;
        second += weightsOf[row + 1] as number;
        third += weightsOf[row + 2] as number;
        fourth += weightsOf[row + 3] as number;
      }
      return first >= 0 || second >= 0 || third >= 0 || fourth >= 0;
    },
    score(category, found) {
      const table = tables[category];
      let sum = weights[category].bias;
      for (const feature of found) sum += table[feature] as number;
      return 1 / (1 + Math.exp(-sum));
    },
    reasons(category, found) {
      const table = tables[category];
      return found
        .filter((feature) => (table[feature] as number) > 0)
        .sort((a, b) => (table[b] as number) - (table[a] as number))
        .slice(0, reasonsMax)
        .map((it) => features.nameOf(it));
    },
  };
}

function toTable(weights: Readonly<Record<string, number>>, features: Features): Float64Array {
  const table = new Float64Array(features.size);
  for (const [name, weight] of Object.entries(weights)) {
    const feature = features.find(name);
    if (feature === undefined) throw new Error(`There is a weight for ${name}, which is no feature.`);
    table[feature] = weight;
  }
  return table;
}
