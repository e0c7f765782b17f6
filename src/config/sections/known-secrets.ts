import { hostGlob, matching } from '../scalars.ts';
import { list, section } from '../section.ts';

/* Secrets whose values the operator knows. They are found by their value, whatever they look like. */

export const knownSecret = section({
  name: matching(
    /^(?=.{1,48}$)[a-z0-9]+(?:-[a-z0-9]+)*$/,
    'must be at most 48 small letters, digits and single hyphens',
  ).describe('Findings are called known-secret- and this.'),
  // A plain word, a short number or a row of signs (`********`) stands in texts that do not mean it.
  value: matching(
    /^(?![A-Za-z]{0,15}$|\d{0,11}$|[^0-9A-Za-z]*$)[\x21-\x7e][\x20-\x7e]{6,254}[\x21-\x7e]$/,
    'must be 8 to 256 characters of ASCII in one line, and neither a word, nor signs alone, nor a number of less than 12 digits',
  ).describe('The secret, best read from a file or a variable.'),
  hosts: list(hostGlob, 100).describe(
    'Hosts where it is at home, in the headers and parameters that usually carry credentials.',
  ),
});
