import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { findConfigFile, loadConfig, validateConfig } from '../../config/load.ts';

/** `postern ca show`: the authority whose certificates agents see. Its key is never read here. */
export function addCa(program: Command): void {
  program
    .command('ca')
    .description('look at the certificate authority')
    .command('show')
    .description('print where the authority is, its fingerprint and how long it is valid')
    .action(() => {
      const { config: option, json } = program.opts<{ config?: string; json?: boolean }>();
      const file = findConfigFile(option, process.env);
      const config =
        file === undefined
          ? validateConfig({}, { file: undefined, env: process.env })
          : loadConfig(file, process.env);
      const certificate = new X509Certificate(readFileSync(config.authority.cert));
      const facts = {
        file: config.authority.cert,
        subject: certificate.subject.replaceAll('\n', ', '),
        sha256: certificate.fingerprint256,
        valid_from: new Date(certificate.validFrom).toISOString(),
        valid_to: new Date(certificate.validTo).toISOString(),
      };
      if (json) console.log(JSON.stringify(facts));
      else for (const [name, value] of Object.entries(facts)) console.log(`${name.padEnd(10)}  ${value}`);
    });
}
