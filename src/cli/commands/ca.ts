import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { CommonOptions } from '../connection/client.ts';
import { readConfig } from '../connection/configuration.ts';
import { print, toFacts, toJson } from '../output.ts';

/** `postern ca show`: the authority whose certificates agents see. Its key is never read here. */
export function addCa(program: Command): void {
  program
    .command('ca')
    .description('look at the certificate authority')
    .command('show')
    .description('print where the authority is, its fingerprint and how long it is valid')
    .action(async (_options: unknown, show: Command) => {
      const { config: named, json } = show.optsWithGlobals<CommonOptions>();
      const { config } = await readConfig(named);
      const file = config.authority.cert;
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
