import * as z from 'zod';
import { confidences, dataClasses } from '../../core/call.ts';
import { type CheckName, checks } from '../checks/checks.ts';

/*
 * Describes one detector, as a YAML file has it. A detector is data. It names what is cheap to look for: an
 * anchor, a keyword, a run of digits, a whole word, or findings of others. It has the pattern that is tried
 * only there, and the conditions that a match must meet.
 *
 * Examples are the detector's tests. They must not contain tokens that look alive, because code hosts refuse
 * a push with such tokens. A brace expression stands for generated text, which is the same at every run:
 *
 *     `{alnum:36}` `{upper:16}` `{lower:8}` `{letter:34}` `{digits:9}` `{hex:32}` `{HEX:8}`
 *     `{base32:16}` `{base58:22}` `{base64:86}` `{base64url:43}`   Characters of an alphabet.
 *     `{crc:36}`              30 characters and their checksum, as GitHub and npm have.
 *     `{postern:iv_live_}`    A whole key of the gateway.
 *     `{jwt:20}`              A whole token with that many characters of signature.
 *     `{basic:user}`          The base64 of a user and a password.
 *     `{digits64:18}`         The base64 of a number with so many digits.
 *     `{phrase:12}`           A wallet's words.
 *     `{base58check:80-32}` `{ripple:21-16}`   A wallet's key: its first bytes, and how many follow.
 *     `{bech32:nsec}` `{stellar:seed}` `{keypair:list}` `{keypair:base58}`   Other wallets' keys.
 */

const patternLengthMax = 2000;
const lines = z.array(z.string().min(1).max(1000));

/**
 * What matches stand for, so that others count beside them. `person` is a name, and `patient` the name of
 * somebody whose health a text is about. `identifier` points to one person (a state's number, a date of
 * birth), `account` is a firm's number for a person, and `contact` reaches one. `clinical` is a fact as
 * clinical records have it, and `health` a word of health in prose.
 */
export const detectorRoles = [
  'person',
  'patient',
  'identifier',
  'account',
  'contact',
  'clinical',
  'health',
] as const;
export type DetectorRole = (typeof detectorRoles)[number];

export const fieldsSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'must be kebab-case')
    .max(64),
  title: z.string().min(1).max(100),
  class: z.enum(dataClasses),
  source: z
    .string()
    .min(10)
    .max(300)
    .optional()
    .describe('where the format is documented: a URL, or a standard and its section'),
  confidence: z.enum(confidences).describe('of a match that passes every condition'),
  vendor_hosts: lines.default([]).describe('where such a credential is at home: exact names or *.suffix'),
  home_places: z
    .array(
      z
        .string()
        .regex(/^(?:path|(?:header|query):[A-Za-z0-9_.-]{1,64})$/, 'must be path, header:name or query:name'),
    )
    .optional()
    .describe(
      'where such a credential is at home in a call to a vendor host; absent: where most vendors take it',
    ),
  anchors: lines.default([]).describe('literals with which a match begins; the pattern is tried right there'),
  anchor_case: z.boolean().default(false).describe('anchors count only as they are written'),
  boundary: z
    .boolean()
    .default(true)
    .describe(
      'an anchor counts only where it does not continue a word, unless it has 6 bytes in its own case',
    ),
  keywords: lines.default([]).describe('literals near which the pattern is searched; case never counts'),
  whole_words: z
    .boolean()
    .default(false)
    .describe(
      'keywords count only as words, also of a compound name (customerSin) and in the forms that fields have (keyword-forms.ts), and a match stands apart from words and numbers',
    ),
  window: z
    .strictObject({
      before: z.int().min(0).max(1024).default(0),
      after: z.int().min(0).max(1024).default(0),
    })
    .optional()
    .describe('how far from a keyword, or before a run of digits, a match may begin, in bytes'),
  digits: z
    .int()
    .min(4)
    .max(32)
    .optional()
    .describe('the pattern is searched in runs of at least so many digits'),
  words: lines
    .default([])
    .describe('whole words that are matches themselves, without a pattern; case never counts'),
  near: z
    .array(z.enum(detectorRoles))
    .default([])
    .describe('the pattern is searched around what others have found that stands for one of these'),
  role: z
    .enum(detectorRoles)
    .optional()
    .describe('what a match stands for; of class PII an identifier by default'),
  needs: z
    .array(z.enum(detectorRoles))
    .default([])
    .describe('one of these near it makes a match of medium confidence; see evidence.ts'),
  pattern: z
    .string()
    .min(1)
    .max(patternLengthMax)
    .optional()
    .describe('a regular expression over bytes; `{{name}}` stands for a part of pattern-parts.ts'),
  flags: z
    .string()
    .regex(/^[ims]*$/)
    .default(''),
  group: z.int().min(0).max(9).default(0).describe('the group that holds the secret; 0 is the whole match'),
  min_entropy: z.number().min(0).max(8).default(0).describe('bits for each character of the secret'),
  check: z.enum(Object.keys(checks) as [CheckName, ...CheckName[]]).optional(),
  failed_check: z.enum(confidences).optional().describe('confidence where the check fails; absent: no match'),
  generic: z
    .boolean()
    .default(false)
    .describe('says less than others: gives way to any other match around it'),
  placeholders: lines.default([]).describe('published example values, or /regex/: low confidence'),
  examples: z.strictObject({ match: lines.min(1), pass: lines.min(1) }),
});

export type DetectorFields = z.output<typeof fieldsSchema>;

/** Receives the path of a mistake, and a sentence that tells what is wrong there. */
export type OnMistake = (path: string, message: string) => void;

/** Checks the rules that concern several fields. */
export function checkFields(value: DetectorFields, onMistake: OnMistake): void {
  const [isNear, isWords] = [value.near.length > 0, value.words.length > 0];
  const hasKeywords = value.keywords.length > 0;
  const starts = [value.anchors.length > 0, hasKeywords, value.digits !== undefined, isNear, isWords];
  if (value.home_places !== undefined && value.vendor_hosts.length === 0)
    onMistake('home_places', 'no host is home without vendor_hosts');
  if (starts.filter(Boolean).length !== 1)
    onMistake('anchors', 'exactly one of anchors, keywords, digits, words and near is needed');
  if ((hasKeywords || isNear) && value.window === undefined)
    onMistake('window', 'keywords and near need a window');
  if ((value.anchors.length > 0 || isWords) && value.window !== undefined)
    onMistake('window', 'anchors and words have no window');
  if (isWords !== (value.pattern === undefined))
    onMistake('pattern', 'words stand for themselves, all else needs it');
  if (value.words.some((word) => Buffer.byteLength(word) < 2))
    onMistake('words', 'a word has two bytes or more');
  if (value.needs.length > 0 && value.confidence !== 'low')
    onMistake('needs', 'what needs others has low confidence alone');
  if (value.role !== undefined && value.needs.includes(value.role))
    onMistake('needs', 'two of a kind do not support each other');
}

const examplesMin = 2;

/**
 * Checks what a detector in a file needs besides: the source of its format, and enough examples of matches
 * and near misses.
 */
export function checkFileFields({ source, examples }: DetectorFields, onMistake: OnMistake): void {
  if (source === undefined) onMistake('source', 'is missing: where is the format documented?');
  for (const kind of ['match', 'pass'] as const)
    if (examples[kind].length < examplesMin) onMistake(`examples.${kind}`, `needs ${examplesMin} or more`);
}
