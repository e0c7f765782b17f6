import type { Finding, FoundInBody, Inspection, Meaning } from '../../core/call.ts';
import type { NameReader, SafeName } from '../../core/safe-name.ts';
import type { PartResult } from '../../inspect/read-part.ts';

const none: readonly never[] = Object.freeze([]);
const noBytes = Buffer.alloc(0);

/** Holds an inspection while it is made. The stage fills it in and hands it out. Nobody changes it then. */
export class Reading implements Inspection {
  readonly safeName: NameReader;
  readonly agentName: SafeName | undefined;
  readonly runtimeType: SafeName | undefined;
  head: Buffer = noBytes;
  findings: Finding[] = [];
  opaque: readonly string[] = none;
  uncounted: readonly Finding['class'][] = none;
  injection = 0;
  meanings: readonly Meaning[] = none;
  bodyUrls: Inspection['bodyUrls'];
  wordsFound: FoundInBody | undefined;
  readAgain: Inspection['readAgain'];
  cutApart: Inspection['cutApart'];
  #bodyTexts: readonly Buffer[] | (() => readonly Buffer[]) = none;

  constructor(safeName: NameReader, claimed: { readonly agentName?: string; readonly runtimeType?: string }) {
    const { agentName, runtimeType } = claimed;
    this.safeName = safeName;
    this.agentName = agentName ? safeName(agentName) : undefined;
    this.runtimeType = runtimeType ? safeName(runtimeType) : undefined;
  }

  get bodyTexts(): readonly Buffer[] {
    if (typeof this.#bodyTexts === 'function') this.#bodyTexts = this.#bodyTexts();
    return this.#bodyTexts;
  }

  set bodyTexts(texts: readonly Buffer[] | (() => readonly Buffer[])) {
    this.#bodyTexts = texts;
  }

  /** Adds the findings of a part, and what could not be read in it. */
  add({ findings, opaque, uncounted }: Pick<PartResult, 'findings' | 'opaque' | 'uncounted'>): void {
    if (uncounted.length > 0) this.uncounted = uncounted;
    this.findings.push(...findings);
    if (opaque.length > 0) this.opaque = [...this.opaque, ...opaque];
  }
}
