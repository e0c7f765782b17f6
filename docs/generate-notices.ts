import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/* The licences of what ships with Postern: the packages that `npm install` of it brings, and their texts. */

const root = resolve(import.meta.dirname, '..');

interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly link?: boolean;
}

interface Shipped {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** Of the archive in the registry, in base64. */
  readonly sha512: string;
  readonly folder: string;
}

/** The packages of the lock file that are neither for development nor the Node of a platform, by name. */
export function shippedPackages(): readonly Shipped[] {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, Locked>>;
  };
  return Object.entries(packages)
    .filter(([folder, it]) => folder.startsWith('node_modules/') && !it.dev && !it.optional && !it.link)
    .map(([folder, { version = '', license = '', integrity = '' }]) => ({
      name: folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      license,
      sha512: integrity.replace(/^sha512-/, ''),
      folder: join(root, folder),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The text that a package has of its licence; some name it alone. */
function licenceText(folder: string): string {
  const file = readdirSync(folder).find((name) => /^(?:licen[cs]e|copying)(?:[.-].*)?$/i.test(name));
  return file === undefined
    ? 'The package names its licence and has no text of it.'
    : readFileSync(join(folder, file), 'utf8').replaceAll('\r\n', '\n').trim();
}

export function noticesDocument(): string {
  const rule = '-'.repeat(80);
  const entries = shippedPackages().map(
    ({ name, version, license, folder }) =>
      `${rule}\n${name} ${version} (${license})\n\n${licenceText(folder)
        .split('\n')
        .map((it) => it.trimEnd())
        .join('\n')}\n`,
  );
  return `Postern is under the Apache License 2.0 (LICENSE). It ships with these packages, each under its own licence.\n\n${entries.join('\n')}`;
}

/**
 * The same packages as a bill of materials (CycloneDX 1.6). `npm sbom --omit dev` leaves out packages that are needed both here and for
 * development.
 */
export function billOfMaterials(): Record<string, unknown> {
  const { name, version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const component = (it: Pick<Shipped, 'name' | 'version' | 'license'>, type: string) => ({
    type,
    'bom-ref': `pkg:npm/${it.name.replace('@', '%40')}@${it.version}`,
    purl: `pkg:npm/${it.name.replace('@', '%40')}@${it.version}`,
    name: it.name,
    version: it.version,
    licenses: [{ expression: it.license }],
  });
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: component({ name, version, license }, 'application') },
    components: shippedPackages().map((it) => ({
      ...component(it, 'library'),
      hashes: [{ alg: 'SHA-512', content: Buffer.from(it.sha512, 'base64').toString('hex') }],
    })),
  };
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(billOfMaterials(), null, 2)}\n`);
