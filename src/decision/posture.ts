import { type Band, type DataClass, type Decision, decisions, type Risk } from '../core/call.ts';

/** The decisions where no rule matches, by data class and by the band of the risk. */
export interface Posture {
  readonly secrets: Decision;
  readonly pii: Decision;
  readonly phi: Decision;
  readonly internal: Decision;
  readonly bands: Readonly<Partial<Record<Band, Decision>>>;
}

export interface PostureOpinion {
  readonly decision: Decision;
  /** The reason code of the decision; undefined where everything is allowed anyway. */
  readonly reasonCode: string | undefined;
  /** The classes that the posture wants cut out. */
  readonly sanitizes: readonly DataClass[];
  readonly explanation: string;
}

const fieldOf = { SECRETS: 'secrets', PII: 'pii', PHI: 'phi', INTERNAL: 'internal' } as const;

export const stricter = (a: Decision, b: Decision): boolean => decisions.indexOf(a) > decisions.indexOf(b);

/**
 * Returns the strictest of the decisions for the classes found and for the band. If all classes are cut, the
 * band is that of the sanitized call, since a secret alone makes the risk HIGH.
 */
export function judgeByPosture(
  risk: Pick<Risk, 'score' | 'band' | 'residualBand'>,
  classes: readonly DataClass[],
  posture: Posture,
): PostureOpinion {
  const sanitizes = classes.filter((name) => posture[fieldOf[name]] === 'SANITIZE');
  let opinion: PostureOpinion = {
    decision: 'ALLOW',
    reasonCode: undefined,
    sanitizes,
    explanation: 'No policy rule matches, and the posture allows what the call carries.',
  };
  for (const name of classes) {
    const decision = posture[fieldOf[name]];
    if (!stricter(decision, opinion.decision)) continue;
    opinion = {
      decision,
      reasonCode: name,
      sanitizes,
      explanation: `No policy rule matches; for ${name} the posture says ${decision}.`,
    };
  }
  const everythingIsCut = classes.length > 0 && sanitizes.length === classes.length;
  const band = everythingIsCut ? risk.residualBand : risk.band;
  const decision = posture.bands[band] ?? 'ALLOW';
  if (!stricter(decision, opinion.decision)) return opinion;
  return {
    decision,
    reasonCode: `RISK_${band}`,
    sanitizes,
    explanation: `No policy rule matches; for risk ${band} (${risk.score}) the posture says ${decision}.`,
  };
}
