/* Says how rare the order of a text's characters is in words. It knows no kinds of values. */

/**
 * Bits by which a pair of letters speaks for randomness, as one digit. It is log2 of how much rarer the pair
 * is in words than in random text, plus 4. There is a row for each first letter and a column for each second.
 * They were counted over the different words of documentation, source code and licences. So frequent words
 * weigh little more than others.
 */
const pairDigits =
  '53236536374131738121445546 35563678468367379446489858 26452672383367168342478868 35541567277566368446467869 ' +
  '24213346475231535012544346 46664379299477379455498969 48672754499464469346488878 28872888397666379564588969 ' +
  '33233337775230237322638584 58775899698989579959698999 48873776488686579656687979 26541667186266259744468838 ' +
  '25762778387547338746489869 26322416265564358621457857 54335546565331339133343667 27662774386367349243487859 ' +
  '99999899799999999978489999 15431547185434259323457948 36361563285455336621366857 26451572186456259233476736 ' +
  '44454558496342649333879787 38782889399878589768899989 48874885498685589557999999 68575798599878759874899679 ' +
  '57675878699665649755787988 59994997599889799988899987';

const pairBitsZero = 4;
const letterCount = 26;
const pairBits = Int8Array.from(pairDigits.replaceAll(' ', ''), (digit) => Number(digit) - pairBitsZero);
/** The bits of a digit before a letter: within a word, digits seldom come first. */
const digitThenLetterBits = 2;
const letterThenDigitBits = 1;
/**
 * The bits of a small letter before a capital. In `camelCase` a new word follows, so the pair says little.
 */
const newWordBits = 0.5;
const lowerA = 0x61;
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isUpper = (code: number): boolean => code >= 0x41 && code <= 0x5a;
const isLower = (code: number): boolean => code >= lowerA && code <= 0x7a;
const isLetter = (code: number): boolean => isLower(code) || isUpper(code);

/** Returns the bits of two neighbouring characters. */
function bitsOf(first: number, second: number): number {
  if (isDigit(first)) return isLetter(second) ? digitThenLetterBits : 0;
  if (!isLetter(first)) return 0;
  if (isDigit(second)) return letterThenDigitBits;
  if (!isLetter(second)) return 0;
  if (isLower(first) && isUpper(second)) return newWordBits;
  return pairBits[letterCount * ((first | 0x20) - lowerA) + (second | 0x20) - lowerA] as number;
}

/** Returns the bits by which the order of characters speaks for randomness; below 0 it speaks for words. */
export function randomBits(text: string): number {
  let bits = 0;
  for (let index = 1; index < text.length; index++)
    bits += bitsOf(text.charCodeAt(index - 1), text.charCodeAt(index));
  return bits;
}

/** Returns the number of Latin letters of a text. */
export function countLetters(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index++) if (isLetter(text.charCodeAt(index))) count++;
  return count;
}
