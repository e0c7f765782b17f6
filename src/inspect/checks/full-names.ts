import { readFileSync } from 'node:fs';
import { lazily } from '../../util/lazily.ts';
import { packageFile } from '../../util/program-files.ts';
import type { Checks } from './check.ts';

/*
 * Tells whether capitalised words are a person's name. In a text about health, headings, firms and places
 * look the same.
 */

/** Returns the words in lower case, without punctuation at their ends. */
const wordsOf = (text: string): string[] =>
  Buffer.from(text, 'latin1')
    .toString('utf8')
    .split(/[\s+^_-]+|(?<=[.,])(?=\p{Lu})/u)
    .map((word) => word.replace(/[.,]$|['\u2019]s$/g, '').toLowerCase());

/** Given names. The list is read when it is first needed, since most texts have nothing to do with health. */
const givenNames = lazily(
  () => new Set(readFileSync(packageFile('config/words/given-names.txt'), 'utf8').trimEnd().split('\n')),
);

/** Returns a word in the form of the list: `Jürgen` is `jurgen`. */
const withoutAccents = (word: string): string =>
  word
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[łøßæœđı]/g, (letter) => plainLetters[letter] ?? letter);
const plainLetters: Readonly<Record<string, string>> = {
  ł: 'l',
  ø: 'o',
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  đ: 'd',
  ı: 'i',
};

/** Capitalised words, in lower case here, that no person's name has. */
const notNames = new Set(
  // Sentences and headings.
  (
    'the this that chez bei professor chez bei professor these those there here our your my his her its their we you they it he she who what when where why how if in on at by to from ' +
    'of for with and or but not no yes all any each every some most many both one two three first second third next last new old other please ' +
    'see also note notes name full first dear hello hi hey thanks thank best kind regards re fwd subject date time page section chapter table ' +
    'figure part step version release summary overview introduction conclusion results result report reports abstract background method methods ' +
    'discussion type stage grade phase class level group team user users admin customer customers client clients member members employee ' +
    'employees people person patient patients doctor doctors nurse nurses physician provider providers staff family parents children women men ' +
    'adults patientin paciente patiente paziente mr mrs ms miss dr prof sir madam herr frau monday tuesday wednesday thursday friday saturday ' +
    'sunday january february march april june july august september october november december ' +
    // Health as a field, and its headings.
    'health healthcare medical medicine medicare medicaid clinical clinic clinics hospital hospitals care center centre centers centres ' +
    'institute institutes university college school department ministry agency administration association society foundation academy ' +
    'organization organisation committee council board program programme project trial trials study studies journal review guideline guidelines ' +
    'treatment therapy drug drugs vaccine vaccines vaccination disease diseases syndrome disorder disorders infection cancer diabetes asthma ' +
    'hypertension insulin blood pressure heart kidney liver lung skin bone brain eye side effects effect renal hepatic cardiac chronic acute ' +
    'severe primary secondary mental physical public private general internal emergency intensive urgent appointment reminder prescription ' +
    'diagnosis symptoms symptom history allergies allergy medication medications test tests testing lab labs laboratory laboratories risk ' +
    'factors factor data database record records system systems service services software app portal api model code codes insurance benefit ' +
    'benefits plan policy claim claims risk research science sciences news press update updates training module course ' +
    // Firms and places.
    'hotel institut instituto istituto klinik klinikum krankenhaus universität université universidad universidade hôpital ospedale clínica clinica ' +
    'ministerio santé salud saúde gesellschaft stiftung deutsche mount sinai memorial regional community inc corp corporation company ltd llc gmbh ag plc co pharma pharmaceutical pharmaceuticals biotech therapeutics labs nordisk lilly pfizer ' +
    'merck roche novartis sanofi bayer gsk moderna biontech abbott abbvie amgen genentech mayo johns hopkins kaiser permanente cleveland ' +
    'google amazon microsoft apple meta openai anthropic oracle ibm north south east west northern southern eastern western central united ' +
    'states kingdom america american european europe africa african asia asian australian canada canadian british english spanish french ' +
    'german chinese indian japanese world global international national federal state city county street avenue road san los las santa ' +
    'saint st sierra rica rio buenos york england zealand jersey hampshire carolina dakota virginia mexico francisco diego angeles hong kong ' +
    // Persons after whom diseases are named, and names that stand for nobody.
    'great depression parkinson alzheimer crohn hodgkin cushing graves gehrig doe mustermann nadie bloggs example'
  ).split(' '),
);

export const fullNameChecks = {
  /** Tells whether none of the words belongs to a firm, a place, a heading or a disease. */
  'person-name': (text) => wordsOf(text).every((word) => !notNames.has(word)),
  /** Tells whether words are a person's name, one of which is a known given name. */
  'known-name'(text) {
    const words = wordsOf(text);
    if (words.some((word) => notNames.has(word))) return false;
    return words.some((word) => givenNames().has(withoutAccents(word)));
  },
} as const satisfies Checks;
