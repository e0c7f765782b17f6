/** One question of the doctor, answered. */
export interface Check {
  readonly name: string;
  /** unknown: it could not be tried from here. */
  readonly verdict: 'enforced' | 'not enforced' | 'unknown';
  /** Says what was seen. */
  readonly detail: string;
  /** Names the setting that changes it. */
  readonly setting: string;
}

/** Says the verdict by whether it is so. */
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
