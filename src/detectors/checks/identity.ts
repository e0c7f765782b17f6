import { type Checks, digitsOf } from './check.ts';

/** A US social security number that can have been assigned: no area 000, 666, 9xx, no group 00, no serial 0000. */
function isSsn(text: string): boolean {
  const digits = digitsOf(text);
  if (digits.length !== 9 || new Set(digits).size === 1) return false;
  const [area, group, serial] = [digits.slice(0, 3), digits.slice(3, 5), digits.slice(5)];
  return area !== '000' && area !== '666' && area < '900' && group !== '00' && serial !== '0000';
}

export const identityChecks = { ssn: isSsn } as const satisfies Checks;
