import { extname } from 'node:path';
import { type Command, Option } from 'commander';
import { type Confidence, confidences, type DataClass, dataClasses } from '../../../core/call.ts';
import type { Detected, Detection } from '../../../inspect/detect.ts';
import type { CommonOptions } from '../../connection/client.ts';
import { type FileDetector, openFileDetector } from '../../detectors.ts';
import { note, print, printable, toJson, toTable } from '../../output.ts';
import { differs } from './policy-diff.ts';

interface DetectOptions extends CommonOptions {
  readonly tenant?: string;
  readonly contentType?: string;
  readonly class?: DataClass;
  readonly minConfidence: Confidence;
  readonly sha256?: boolean;
  readonly exitCode?: boolean;
  readonly list?: boolean;
}

const contentTypes: Readonly<Record<string, string>> = {
  '.json': 'application/json',
  '.jsonl': 'application/x-ndjson',
  '.ndjson': 'application/x-ndjson',
  '.xml': 'application/xml',
  '.html': 'text/html',
  '.form': 'application/x-www-form-urlencoded',
};

/** Adds `postern detect`, which says what detectors find in files, masked. It needs no daemon. */
export function addDetect(program: Command): void {
  program
    .command('detect')
    .description('show what detectors find in files, read as bodies of calls are read; asks no daemon')
    .argument('[file...]', '- for standard input')
    .option('--tenant <id>', 'by the settings of this tenant of --config (default: its only tenant)')
    .option('--content-type <type>', 'of the files (default: by their names)')
    .addOption(new Option('--class <class>', 'only findings of this class').choices(dataClasses))
    .addOption(
      new Option('--min-confidence <confidence>', 'only findings at least so sure; classes need medium')
        .choices(confidences)
        .default('low'),
    )
    .option('--sha256', 'also what allow_sha256 takes; of something short, the hash tells the text')
    .option('--exit-code', `end with ${differs} where something is found that sets a class`)
    .option('--list', 'list the detectors instead')
    .action(async (files: readonly string[], _options: unknown, detect: Command) => {
      const options = detect.optsWithGlobals<DetectOptions>();
      if ((files.length === 0) !== (options.list ?? false))
        detect.error('error: name the files to read, or else --list.', { exitCode: 2 });
      const detector = await openFileDetector(options);
      await (options.list ? list(detector, options) : detectIn(files, detector, options));
    });
}

async function detectIn(
  files: readonly string[],
  detector: FileDetector,
  options: DetectOptions,
): Promise<void> {
  for (const file of files) {
    const contentType = options.contentType ?? contentTypes[extname(file).toLowerCase()] ?? 'text/plain';
    const detected = await detector.detect(file, contentType);
    const findings = detected.findings.filter((it) => isWanted(it, options));
    await print(toText(file, { ...detected, findings }, options));
    if (detected.unreadable !== undefined) {
      note(`postern: ${file} was not read to its end: ${detected.unreadable}.`);
      process.exitCode = 1;
    }
    if (options.exitCode && findings.some(({ confidence }) => confidence !== 'low'))
      process.exitCode ??= differs;
  }
}

const isWanted = (finding: Detection, { class: dataClass, minConfidence }: DetectOptions): boolean =>
  (dataClass ?? finding.class) === finding.class &&
  confidences.indexOf(finding.confidence) >= confidences.indexOf(minConfidence);

function toText(file: string, { findings, unreadable }: Detected, options: DetectOptions): string {
  if (options.json) {
    const shown = findings.map(({ sha256, ...it }) => (options.sha256 ? { ...it, sha256 } : it));
    return `${toJson({ file, unreadable: unreadable ?? null, findings: shown })}\n`;
  }
  const blocks = findings.map((it) => {
    const decoded = it.encodings.length > 0 ? `, decoded by ${it.encodings.join(', ')}` : '';
    return [
      `${file}:${it.line}:${it.column}: ${it.kind} (${it.class}, ${it.confidence}) in ${it.location}${decoded}`,
      `  ${it.preview}`,
      ...(options.sha256 ? it.sha256.map((hash) => `  sha256 ${hash}`) : []),
    ];
  });
  const summary = `${file}: ${findings.length === 1 ? '1 finding' : `${findings.length} findings`}`;
  return [...blocks.flat(), summary].map((line) => `${printable(line)}\n`).join('');
}

async function list({ detectors }: FileDetector, options: DetectOptions): Promise<void> {
  const rows = detectors
    .filter((it) => (options.class ?? it.class) === it.class)
    .map(({ id, title, class: dataClass, confidence, vendorHosts }) => ({
      ...{ id, title, class: dataClass, confidence, vendor_hosts: vendorHosts },
    }));
  const columns = ['id', 'title', 'class', 'confidence', 'vendor_hosts'];
  await print(options.json ? `${toJson({ items: rows })}\n` : toTable(rows, columns));
}
