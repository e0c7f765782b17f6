import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { toFindings } from '../config/checks/issues.ts';
import { ConfigError, dotted, type Mistake, type Path, suggestion } from '../config/checks/mistakes.ts';
import { createEngine } from '../inspect/match/engine.ts';
import { farReachingOf } from '../inspect/match/far-reaching.ts';
import {
  type AddedDetector,
  addedDetectorSchema,
  addedFieldNames,
} from '../inspect/patterns/added-detector.ts';
import type { Detector } from '../inspect/patterns/detector.ts';
import { packageFile } from '../util/program-files.ts';
import { readYaml, type YamlDocument } from '../util/yaml.ts';

/*
 * Detectors that an operator adds to those of the package. They are made once, of the texts of their files,
 * and then cross to other threads in shared memory: a thousand tenants may tell a thread of them.
 */

/** Bound on all added detectors. Making an engine of so many takes the event loop 10 ms. */
export const addedMax = 256;

/** The detectors that are added, for any thread. */
export interface AddedDetectors {
  /** A text that is equal where the files say the same. */
  readonly digest: string;
  readonly packed: SharedArrayBuffer;
}

/** A detector, and where it stands: file and line, or path in the configuration. */
interface PlacedDetector {
  readonly detector: Detector;
  readonly place: string;
}

/** A detector as it was written. */
export type WrittenDetector = AddedDetector & PlacedDetector;

/** The text of a file with detectors. */
export interface DetectorText {
  readonly file: string;
  readonly text: string;
}

/**
 * Makes the detectors of the texts, and tries them and the others by their examples; undefined where there
 * are none. Throws `ConfigError` with everything that is wrong.
 */
export function parseAddedDetectors(
  texts: readonly DetectorText[],
  configFile: string | undefined,
  others: readonly WrittenDetector[] = [],
): AddedDetectors | undefined {
  if (texts.length + others.length === 0) return undefined;
  const mistakes: Mistake[] = [];
  const placed: WrittenDetector[] = [];
  const placeOf = new Map<string, string>();
  for (const found of [...others, ...texts.flatMap(parseText)]) {
    if ('mistakes' in found) {
      mistakes.push(...found.mistakes);
      continue;
    }
    const { detector, place } = found;
    const taken = placeOf.get(detector.id);
    if (taken === undefined) placed.push(found);
    else mistakes.push(at(place, 'id', `is taken by ${taken}`));
    placeOf.set(detector.id, taken ?? place);
  }
  if (placed.length > addedMax)
    mistakes.push({
      path: 'detectors',
      line: undefined,
      message: `files and known_secrets have more than ${addedMax} detectors`,
    });
  else mistakes.push(...failedExamples(placed));
  if (mistakes.length > 0) throw new ConfigError(configFile, mistakes);
  if (placed.length === 0) return undefined;
  const bytes = serialize(placed.map(({ detector, place }): PlacedDetector => ({ detector, place })));
  const packed = new SharedArrayBuffer(bytes.length);
  new Uint8Array(packed).set(bytes);
  return { digest: hash('sha256', bytes), packed };
}

const unpacked = ({ packed }: AddedDetectors): readonly PlacedDetector[] =>
  deserialize(Buffer.from(new Uint8Array(packed))) as readonly PlacedDetector[];

/** Returns the detectors themselves, made anew at each call. */
export const detectorsOf = (added: AddedDetectors): readonly Detector[] =>
  unpacked(added).map(({ detector }) => detector);

/** Returns the mistakes of detectors whose id is taken in the package, each with both files. */
export const takenIds = (added: AddedDetectors, ids: ReadonlySet<string>): readonly Mistake[] =>
  unpacked(added)
    .filter(({ detector: { id } }) => ids.has(id))
    .map(({ detector: { id }, place }) => at(place, 'id', `"${id}" is taken by ${ownPlaceOf(id)}`));

/** Returns the file of the package that has a detector. Only a mistake asks for it. */
function ownPlaceOf(id: string): string {
  const folder = packageFile('config/detectors');
  const hasId = new RegExp(`^id: ['"]?${id}['"]?\\s*$`, 'm');
  const file = readdirSync(folder).find(
    (name) => name.endsWith('.yaml') && hasId.test(readFileSync(join(folder, name), 'utf8')),
  );
  return file === undefined ? 'a detector of the gateway' : join('config/detectors', file);
}

type Parsed = WrittenDetector | { readonly mistakes: readonly Mistake[] };

function parseText({ file, text }: DetectorText): readonly Parsed[] {
  if (text.trim() === '') return [{ mistakes: [at(file, '', emptied)] }];
  const { documents, mistakes } = readYaml(text, { documentsMax: addedMax });
  if (mistakes.length > 0)
    return [
      { mistakes: mistakes.map(({ line, column, message }) => at(`${file}:${line}:${column}`, '', message)) },
    ];
  return documents.filter(({ value }) => value !== null).map((document) => parseDocument(file, document));
}

/** The mistake of an empty file: a program that writes a file anew empties it first. */
const emptied = 'is empty; if its detectors shall not count any more, remove it, or leave a comment in it';

function parseDocument(file: string, { value, line, lineOf }: YamlDocument): Parsed {
  const placeOf = (path: Path): string => `${file}:${path.length > 0 ? lineOf(dotted(path)) : line}`;
  const parsed = addedDetectorSchema.safeParse(value);
  if (!parsed.success)
    return {
      mistakes: parsed.error.issues.flatMap((issue) => {
        const found =
          issue.code === 'unrecognized_keys'
            ? issue.keys.map((key) => ({
                path: [...issue.path, key],
                message: `unknown key${suggestion(key, addedFieldNames)}`,
              }))
            : toFindings(issue, value);
        return found.map(({ path, message }) => at(placeOf(path), dotted(path), message));
      }),
    };
  try {
    // Its words must be long where its matches are.
    farReachingOf(parsed.data.detector);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { mistakes: [at(placeOf(['pattern']), 'pattern', error.message)] };
  }
  return { ...parsed.data, place: `${file}:${line}` };
}

const limits = { matchesMax: 100, isOver: () => false };

/** Returns a mistake for each example that is not what it should be. It does not quote the text. */
function failedExamples(placed: readonly WrittenDetector[]): readonly Mistake[] {
  const all = createEngine(placed.map(({ detector }) => detector));
  return placed.flatMap(({ detector, examples, place }) => {
    // A generic one gives way to others.
    const engine = detector.isGeneric ? createEngine([detector]) : all;
    const isFound = (text: string): boolean => {
      const { matches, hints } = engine.find(Buffer.from(text), limits);
      return [...matches, ...hints].some(
        (it) => it.detector === detector && (it.confidence !== 'low' || detector.confidence === 'low'),
      );
    };
    const failed = (kind: 'match' | 'pass', message: string): readonly Mistake[] =>
      examples[kind].flatMap((text, index) =>
        isFound(text) === (kind === 'match') ? [] : [at(place, `examples.${kind}[${index}]`, message)],
      );
    return [...failed('match', 'is not found'), ...failed('pass', 'is found')];
  });
}

/** Returns a mistake in a file of detectors. The path has the file, since it is not the configuration. */
const at = (place: string, path: string, message: string): Mistake => ({
  path: `${place} ${path}`.trimEnd(),
  line: undefined,
  message,
});
