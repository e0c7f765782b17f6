import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { onePass } from '../../src/inspect/decode/budget.ts';
import { isZip } from '../../src/inspect/decode/packed/compression.ts';
import { unzip } from '../../src/inspect/decode/packed/zip.ts';

/** A file of this machine that nobody would mind to see sent. */
export interface BenignFile {
  readonly kind: string;
  readonly name: string;
  readonly bytes: Buffer;
  readonly isText: boolean;
}

/** Kinds by the path; the first that fits counts. */
const kinds: readonly (readonly [kind: string, path: RegExp])[] = [
  [
    'lock file',
    /(?:^|\/)(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|\.package-lock\.json|Cargo\.lock)$/,
  ],
  ['source map', /\.map$/],
  ['minified', /\.min\.(?:js|css|mjs)$/],
  ['changelog', /(?:^|\/)(?:changelog|changes|history|news)[^/]*$/i],
  ['copyright', /(?:^|\/)(?:copyright|licen[cs]e|copying|authors)[^/]*$/i],
  ['readme', /(?:^|\/)readme[^/]*$|\.(?:md|rst)$/i],
  ['declarations', /\.d\.[cm]?ts$/],
  ['JavaScript', /\.(?:[cm]?[jt]sx?)$/],
  ['Python', /\.py$/],
  ['Perl', /\.(?:pl|pm|pod)$/],
  ['C', /\.(?:h|hpp|c|cc|cpp)$/],
  ['shell', /\.(?:sh|bash)$|\/bash-completion\/|\/init\.d\//],
  ['JSON', /\.(?:json|jsonl|webmanifest)$/],
  ['YAML and TOML', /\.(?:ya?ml|toml)$/],
  ['HTML and XML', /\.(?:html?|xml|svg|xsl|rng)$/],
  ['style', /\.css$/],
  ['log', /\.log(?:\.\d+)?$/],
  ['table', /\.(?:csv|tsv|tab|dat)$/],
  ['certificate', /\.(?:pem|crt|cer)$/],
  ['manual', /\/man\/.*\.\d[a-z]*(?:\.gz)?$/],
  ['translation', /\.(?:po|pot|mo)$/],
  ['ELF', /\.(?:so(?:\.\d+)*|node|o|ko)$/],
  ['font', /\.(?:ttf|otf|woff2?|pf[ab]|pcf\.gz)$/],
  ['picture', /\.(?:png|jpe?g|gif|webp|ico)$/],
  ['archive', /\.(?:jar|zip|whl|tgz|gz|xz|bz2)$/],
  ['wasm', /\.wasm$/],
  ['database', /\.(?:db|sqlite3?)$/],
  ['bytecode', /\.(?:pyc|class)$/],
  ['PDF', /\.pdf$/],
  ['configuration', /\/etc\/|\.(?:conf|cfg|ini|service|rules|properties|cnf)$/],
  ['text', /\.txt$|\/doc\//],
];

/** What of a file system is generated, of the moment, or somebody's own. */
const skipped =
  /^(?:proc|sys|dev|run|tmp|home|root|work|\.git|\.cache)$|shadow-?$|ssh_host_.*key$|\.key$|^private$|^ssl-cert-snakeoil/;
const filesPerFolderMax = 400;
const pathsPerKindMax = 40_000;
const bytesMin = 32;

export interface Paths {
  /** Paths of each kind. */
  readonly byKind: ReadonlyMap<string, readonly string[]>;
}

/** All files of some kind below the folders, links left out. */
export function pathsBelow(roots: readonly string[], random: () => number): ReadonlyMap<string, string[]> {
  const byKind = new Map<string, string[]>();
  const folders = [...roots];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    let files = 0;
    for (const entry of shuffled(entriesOf(folder), random)) {
      if (skipped.test(entry.name)) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile() && ++files <= filesPerFolderMax) {
        const kind = kinds.find(([, pattern]) => pattern.test(path))?.[0];
        if (kind === undefined) continue;
        const paths = byKind.get(kind) ?? [];
        byKind.set(kind, paths);
        if (paths.length < pathsPerKindMax) paths.push(path);
      }
    }
  }
  return byKind;
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** The file, a text up to `bytesMax` of it; undefined where it cannot be read or is too large. */
export function readBenign(kind: string, path: string, bytesMax: number): BenignFile | undefined {
  try {
    const { size } = statSync(path);
    if (size < bytesMin || size > bytesMax * 64) return undefined;
    const stored = readFileSync(path);
    const bytes = isPackedText(kind, path) ? gunzipSync(stored) : stored;
    const isText = isUtf8(bytes);
    if (!isText && bytes.length > bytesMax) return undefined;
    const entries = isZip(bytes) ? (unzip(bytes, onePass())?.entries ?? []) : [];
    const contents = [bytes, ...entries.map(({ content }) => content)];
    if (contents.some((it) => privateKey.test(it.toString('latin1')))) return undefined;
    const name = (path.split('/').at(-1) ?? '').replace(/[^\w.-]/g, '_');
    return { kind, name, bytes: isText ? firstLines(bytes, bytesMax) : bytes, isText };
  } catch {
    return undefined;
  }
}

/** Whoever sends one of these sends a secret, be it that of a test. */
const privateKey =
  /-----BEGIN[A-Z\s]{1,40}PRIVATE KEY-----(?:\\n|\s){1,40}(?:Proc-Type:|[0-9A-Za-z+/=]{32})|LS0tLS1CRUdJTi[0-9A-Za-z+/]{0,40}(?:UFJJVkFURSBLRV|QUklWQVRFIEtFW|BSSVZBVEUgS0VZ)/;

/** Manuals and changelogs of a distribution are stored packed, and read unpacked. */
const isPackedText = (kind: string, path: string): boolean =>
  path.endsWith('.gz') && kind !== 'archive' && kind !== 'font';

function isUtf8(bytes: Buffer): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** As tools read files: from the start, whole lines, as many as fit. */
function firstLines(bytes: Buffer, bytesMax: number): Buffer {
  if (bytes.length <= bytesMax) return bytes;
  const end = bytes.lastIndexOf(0x0a, bytesMax);
  const cut = end > bytesMax / 2 ? end + 1 : bytesMax;
  return Buffer.from(bytes.toString('utf8', 0, cut).replace(/\ufffd+$/, ''));
}

export function shuffled<T>(all: readonly T[], random: () => number): T[] {
  const mixed = [...all];
  for (let at = mixed.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    [mixed[at], mixed[other]] = [mixed[other] as T, mixed[at] as T];
  }
  return mixed;
}
