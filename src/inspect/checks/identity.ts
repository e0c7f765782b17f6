import type { Checks } from './check.ts';
import { africanAndOceanianIdentityChecks } from './identity/africa-oceania.ts';
import { americanIdentityChecks } from './identity/americas.ts';
import { asianIdentityChecks } from './identity/asia.ts';
import { documentChecks } from './identity/documents.ts';
import { easternEuropeanIdentityChecks } from './identity/eastern-europe.ts';
import { northernEuropeanIdentityChecks } from './identity/northern-europe.ts';
import { westernEuropeanIdentityChecks } from './identity/western-europe.ts';

/** The checks of personal numbers, by region. */
export const identityChecks = {
  /**
   * Checks numbers that need no word beside them, because of their separators, their date or two check digits.
   * They are those of Brazil, Switzerland, Belgium, France and China.
   */
  'sure-by-form'(text) {
    if (text.startsWith('756.')) return westernEuropeanIdentityChecks.ahv(text);
    if (/^\d{3}\./.test(text)) return americanIdentityChecks.cpf(text);
    if (/^\d{2}\./.test(text)) return westernEuropeanIdentityChecks['be-nrn'](text);
    return text.includes(' ') ? westernEuropeanIdentityChecks.nir(text) : asianIdentityChecks.ric(text);
  },
  ...documentChecks,
  ...americanIdentityChecks,
  ...westernEuropeanIdentityChecks,
  ...northernEuropeanIdentityChecks,
  ...easternEuropeanIdentityChecks,
  ...asianIdentityChecks,
  ...africanAndOceanianIdentityChecks,
} as const satisfies Checks;
