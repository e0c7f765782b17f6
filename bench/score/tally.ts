import { dataClasses } from '../../src/core/call.ts';
import type { Answer } from './ask.ts';
import { type Case, isCore, isPositive } from './corpus.ts';

/** What was right and wrong, counted. */
export class Tally {
  truePositives = 0;
  falsePositives = 0;
  falseNegatives = 0;

  get row(): Record<string, number> {
    const { truePositives: tp, falsePositives: fp, falseNegatives: fn } = this;
    const [precision, recall] = [tp / (tp + fp), tp / (tp + fn)];
    return { tp, fp, fn, precision, recall, f1: (2 * precision * recall) / (precision + recall) };
  }
}

interface Share {
  count: number;
  hits: number;
}

/** All that the report prints. */
export class Score {
  readonly classes = new Map<string, Tally>(dataClasses.map((name) => [name, new Tally()]));
  readonly injection = new Tally();
  injectionNegatives = 0;
  /** `set kind` of what is to be found. */
  readonly kinds = new Map<string, Share>();
  /** Bodies of negative sets in which something was found. */
  readonly falseAlarms = new Map<string, Share>();
  readonly evasions = new Map<string, Share>();
  /** Redacted bodies; a hit is one in which nothing labelled is left. */
  readonly redacted = new Map<string, Share>();
  readonly wrong: Case[] = [];

  add(wanted: Case, answer: Answer): void {
    if (wanted.expect.injection !== undefined) {
      this.#addInjection(wanted, answer);
      return;
    }
    if (isCore(wanted.set)) this.#addClasses(wanted, answer);
    if (!isPositive(wanted)) {
      const isClean = answer.classes.length === 0;
      count(this.falseAlarms, wanted.set, !isClean);
      if (!isClean) this.wrong.push(wanted);
      return;
    }
    const isFound = isMet(wanted, answer);
    count(this.kinds, `${wanted.set} ${wanted.kind}`, isFound);
    if (!isFound) this.wrong.push(wanted);
    if (wanted.set === 'evasion') count(this.evasions, wanted.level ?? '', isFound);
    if (answer.sanitized !== undefined && wanted.spans?.length)
      count(this.redacted, wanted.set, !showsSpan(wanted, answer.sanitized));
  }

  #addInjection(wanted: Case, { isInjection }: Answer): void {
    const isRight = isInjection === wanted.expect.injection;
    count(this.kinds, `${wanted.set} ${wanted.kind}`, isRight);
    if (!isRight) this.wrong.push(wanted);
    if (!isCore(wanted.set)) return;
    if (!wanted.expect.injection) this.injectionNegatives += 1;
    if (isRight) this.injection.truePositives += isInjection ? 1 : 0;
    else if (isInjection) this.injection.falsePositives += 1;
    else this.injection.falseNegatives += 1;
  }

  #addClasses({ expect }: Case, { classes }: Answer): void {
    const groups = expect.any_of ?? [];
    const allowed = [...(expect.classes ?? []), ...(expect.optional ?? []), ...groups.flat()];
    for (const [name, tally] of this.classes) {
      const isFound = classes.includes(name);
      const isGroup = !expect.classes?.length && groups.some((group) => group[0] === name);
      const isHit = isGroup ? groups.every((group) => group.some((it) => classes.includes(it))) : isFound;
      if (expect.classes?.includes(name) || isGroup) {
        if (isHit) tally.truePositives += 1;
        else tally.falseNegatives += 1;
      } else if (isFound && !allowed.includes(name)) tally.falsePositives += 1;
    }
  }
}

const isMet = ({ expect }: Case, { classes }: Answer): boolean =>
  (expect.classes ?? []).every((name) => classes.includes(name)) &&
  (expect.any_of ?? []).every((group) => group.some((name) => classes.includes(name)));

function count(shares: Map<string, Share>, name: string, isHit: boolean): void {
  const share = shares.get(name) ?? { count: 0, hits: 0 };
  shares.set(name, { count: share.count + 1, hits: share.hits + (isHit ? 1 : 0) });
}

/** Whether what was labelled is still there, plainly, in percent-encoding or with JSON escapes. */
function showsSpan({ spans = [] }: Case, sanitized: string): boolean {
  const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);
  const texts = [sanitized, unescapePercent(sanitized)];
  return spans.some(
    ({ text }) =>
      text !== undefined &&
      text !== '' &&
      [text, escaped(text), escaped(escaped(text))].some((it) => texts.some((shown) => shown.includes(it))),
  );
}

function unescapePercent(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    // A lone % is no escape: then there is nothing more to see in it.
    return text;
  }
}
