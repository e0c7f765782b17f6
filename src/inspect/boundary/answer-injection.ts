import type { View } from '../decode/views.ts';
import { type Evidence, type InjectionReader, injectionScoreMin } from '../injection/reader.ts';
import type { CallPart } from '../read-part.ts';

/** A judgement on whether content gives orders to the agent that reads it. */
export interface PromptInjection {
  readonly detected: boolean;
  /** The score, from 0 to 1. */
  readonly score: number;
  /** The evidence that made it count; empty where there was none. */
  readonly findings: readonly { readonly kind: string; readonly location: string }[];
}

export const notDetected: PromptInjection = { detected: false, score: 0, findings: [] };

export interface InjectionBounds {
  readonly isOver: () => boolean;
  /** The place up to which evidence does not count; 0 by default. */
  readonly from?: number;
}

/** A text that is read for injections, with its place in the content. */
export type InjectionText = Pick<View, 'bytes' | 'toSource'>;

/** Returns the worst score among the content and its decoded forms. */
export function readInjection(
  injections: InjectionReader,
  views: readonly InjectionText[],
  part: CallPart,
  { isOver, from = 0 }: InjectionBounds,
): PromptInjection {
  let score = 0;
  const found: { kind: string; start: number; end: number }[] = [];
  for (const view of views) {
    const reading = injections.read(view.bytes, isOver);
    score = Math.max(score, reading.score);
    found.push(...reading.evidence.map((it) => ({ kind: it.kind, ...inSource(view, it) })));
  }
  if (!found.some((it) => it.end > from)) return { ...notDetected, score };
  const locate = part.locator([]);
  const findings = new Map(
    found.map(({ kind, start }) => {
      const location = locate(start);
      return [`${kind} ${location}`, { kind, location }];
    }),
  );
  return { detected: score >= injectionScoreMin, score, findings: [...findings.values()] };
}

const inSource = (view: InjectionText, { start, end }: Evidence): { start: number; end: number } =>
  view.toSource(start, end);
