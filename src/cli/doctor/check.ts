/** The answer to one question of the doctor. */
export interface Check {
  readonly name: string;
  /** The outcome; `unknown` where it could not be tried from here. */
  readonly verdict: 'enforced' | 'not enforced' | 'unknown';
  /** What was seen. */
  readonly detail: string;
  /** The setting that changes it. */
  readonly setting: string;
}

/** Returns a check that could be tried. */
export const check = (name: string, isEnforced: boolean, detail: string, setting: string): Check => ({
  name,
  verdict: isEnforced ? 'enforced' : 'not enforced',
  detail,
  setting,
});

export const unknown = (name: string, detail: string, setting: string): Check => ({
  name,
  verdict: 'unknown',
  detail,
  setting,
});
