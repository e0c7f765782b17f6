import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { certificatesIn } from '../../../wire/client/reach/roots.ts';
import type { CommonOptions } from '../../connection/client.ts';
import { readAddresses } from '../../connection/configuration.ts';
import { print, toFacts, toJson } from '../../output.ts';

interface RotateOptions extends CommonOptions {
  readonly switch?: boolean;
  readonly finish?: boolean;
}

interface TrustOptions extends CommonOptions {
  readonly system?: boolean;
  readonly nss?: string | boolean;
  readonly remove?: boolean;
}

/** Adds `postern ca`, for the authority whose certificates agents see. */
export function addCa(program: Command): void {
  const group = program.command('ca').description('the certificate authority');
  addShow(group);
  addExport(group);
  addRotate(group);
  addTrust(group);
}

function addShow(group: Command): void {
  group
    .command('show')
    .description('print where the authority is, its fingerprint and how long it is valid')
    .action(async (_options: unknown, show: Command) => {
      const { config: named, json } = show.optsWithGlobals<CommonOptions>();
      const file = await certificateFile(named);
      const certificate = new X509Certificate(readFileSync(file));
      const facts = {
        file,
        subject: certificate.subject.replaceAll('\n', ', '),
        sha256: certificate.fingerprint256,
        valid_from: new Date(certificate.validFrom).toISOString(),
        valid_to: new Date(certificate.validTo).toISOString(),
      };
      await print(json ? `${toJson(facts)}\n` : toFacts(facts));
    });
}

function addExport(group: Command): void {
  group
    .command('export')
    .description('print the certificate for machines that shall trust it, as PEM; never the key')
    .argument('[file]', 'write it there instead')
    .option('--der', 'as DER, into a file')
    .action(async (file: string | undefined, _options: unknown, exports: Command) => {
      const options = exports.optsWithGlobals<CommonOptions & { der?: boolean }>();
      // The file may have a key, too.
      const certificates = certificatesIn(readFileSync(await certificateFile(options.config), 'utf8'));
      const pem = certificates.map((it) => `${it}\n`).join('');
      if (options.der && file === undefined)
        return exports.error('error: --der needs a file', { exitCode: 2 });
      const content = options.der ? new X509Certificate(pem).raw : pem;
      if (file === undefined) await print(pem);
      else writeFileSync(file, content, { flag: 'wx', mode: 0o644 });
    });
}

function addRotate(group: Command): void {
  group
    .command('rotate')
    .description(
      'change the authority in three steps, of which each is a command: make the next one, switch, finish',
    )
    .option('--switch', 'sign with the next one from the next start on; clients trust both')
    .option('--finish', 'trust the old one no more')
    .action(async (_options: unknown, rotate: Command) => {
      const options = rotate.optsWithGlobals<RotateOptions>();
      const { config } = await readAddresses(options.config);
      const { finishRotation, prepareRotation, switchAuthority } = await import(
        '../../authority/rotate-authority.ts'
      );
      const step = options.finish ? finishRotation : options.switch ? switchAuthority : prepareRotation;
      await print(`${step(config.authority)}\n`);
    });
}

function addTrust(group: Command): void {
  group
    .command('trust')
    .description('install the certificate where programs of this machine look, or remove it')
    .option('--system', 'into the store of the system (as root)')
    .option('--nss [folder]', 'into an NSS database, as Chromium and Firefox have (default: ~/.pki/nssdb)')
    .option('--remove', 'take it out again')
    .action(async (_options: unknown, trust: Command) => {
      const options = trust.optsWithGlobals<TrustOptions>();
      if (!options.system && options.nss === undefined)
        return trust.error('error: name a store: --system or --nss', { exitCode: 2 });
      const { trustIn } = await import('../../authority/trust-stores.ts');
      const file = await certificateFile(options.config);
      const nss = options.nss === true ? '' : options.nss || undefined;
      for (const sentence of await trustIn(file, {
        system: options.system ?? false,
        nss,
        remove: options.remove ?? false,
      }))
        await print(`${sentence}\n`);
    });
}

const certificateFile = async (named: string | undefined): Promise<string> =>
  (await readAddresses(named)).config.authority.cert;
