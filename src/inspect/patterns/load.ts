import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readDataFile } from '../../util/files/data-file.ts';
import { prepared } from '../../util/prepared.ts';
import { type Detector, detectorFileSchema } from './detector.ts';

/**
 * Reads every `*.yaml` file of a folder, each with one detector or several separated by `---`. If there are
 * mistakes, it loads no detector at all and throws one Error that names each with file and path. `keptAs`
 * names a folder that comes with the program; see `prepared`.
 */
export function loadDetectors(dir: string, keptAs?: string): Detector[] {
  const files = readdirSync(dir)
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .map((name) => ({ name, text: readFileSync(join(dir, name), 'utf8') }));
  const make = (): Detector[] => parseFiles(dir, files);
  return keptAs === undefined ? make() : prepared(keptAs, JSON.stringify(files), make);
}

function parseFiles(
  dir: string,
  files: readonly { readonly name: string; readonly text: string }[],
): Detector[] {
  const mistakes: string[] = [];
  const fileOf = new Map<string, string>();
  const detectors: Detector[] = [];
  for (const { name: file, text } of files) {
    for (const found of parseDetectors(text)) {
      if (found.detector === undefined) {
        mistakes.push(...found.mistakes.map((mistake) => `${file}: ${mistake}`));
        continue;
      }
      const { id } = found.detector;
      if (fileOf.has(id)) mistakes.push(`${file}: ${id}: id: is taken by ${fileOf.get(id)}`);
      fileOf.set(id, file);
      detectors.push(found.detector);
    }
  }
  if (mistakes.length > 0) throw new Error(`Detectors in ${dir} are not valid:\n${mistakes.join('\n')}`);
  return detectors;
}

type Parsed = { detector: Detector } | { detector?: undefined; mistakes: string[] };

function parseDetectors(yaml: string): Parsed[] {
  const { documents, mistake } = readDataFile(yaml);
  if (mistake !== undefined) return [{ mistakes: [mistake] }];
  return documents.map((document, index): Parsed => {
    // The parser's texts are slices, which would keep the whole file in memory.
    const value: unknown = structuredClone(document);
    const parsed = detectorFileSchema.safeParse(value);
    if (parsed.success) return { detector: parsed.data };
    const name = nameOf(value) ?? `document ${index + 1}`;
    return {
      mistakes: parsed.error.issues.map(({ path, message }) => `${name}: ${path.join('.')}: ${message}`),
    };
  });
}

function nameOf(value: unknown): string | undefined {
  const id: unknown = typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined;
  return typeof id === 'string' ? id : undefined;
}
