import type { Command } from 'commander';
import type { Config } from '../../../config/schema.ts';
import type { CommonOptions } from '../../connection/client.ts';
import { readConfig } from '../../connection/configuration.ts';
import { print, printable, toJson } from '../../output.ts';

/** Adds `postern config`, which tells what can be known of a configuration before a daemon runs on it. */
export function addConfig(program: Command): void {
  const group = program.command('config').description('look at a configuration');

  group
    .command('check')
    .description('validate a configuration file and the policy files that it names')
    .argument('[file]', 'default: --config, POSTERN_CONFIG, /etc/postern/postern.yaml')
    .action(async (named: string | undefined, _options: unknown, check: Command) => {
      const { config: option, json } = check.optsWithGlobals<CommonOptions>();
      const { file, config } = await readConfig(named ?? option);
      if (file === undefined) throw new Error('there is no configuration file; name one.');
      const { placed } = await import('../../../config/places.ts');
      const checked = await checkAll(file, config).catch((error: unknown) => {
        throw placed(error);
      });
      await tellChecked(file, config, checked, json ?? false);
    });

  group
    .command('show')
    .description(
      'print the configuration in effect, every default filled in and every secret hidden, as JSON',
    )
    .action(async (_options: unknown, show: Command) => {
      const { config } = await readConfig(show.optsWithGlobals<CommonOptions>().config);
      const { toShown } = await import('../../../config/show.ts');
      await print(`${toJson(toShown(config), 2)}\n`);
    });

  group
    .command('schema')
    .description('print the JSON schema of the file, for editors')
    .action(async () => {
      const { toJsonSchema } = await import('../../../config/json-schema.ts');
      await print(`${toJson(toJsonSchema(), 2)}\n`);
    });
}

type Checked = Awaited<ReturnType<typeof checkAll>>;

/** Checks what a start of the daemon would check. Throws the mistakes that would end it; changes nothing. */
async function checkAll(file: string, config: Config) {
  const { ConfigError, disk, mistakeSentence } = await import('../../../config/load.ts');
  const { withPlaces } = await import('../../../config/places.ts');
  const { checkTools, enginesFor } = await import('../../../daemon/reload/generation.ts');
  const { loadPolicyFiles } = await import('../../../daemon/reload/policy-files.ts');
  const { checkFiles } = await import('../../../daemon/start/check-files.ts');
  const { namesInFiles, toolsKnownTo } = await import('../../../decision/trace/known-names.ts');
  const { createCatalogues, ownTables } = await import('../../../tenants/catalogues.ts');
  const { loadEngines } = await import('../../../tenants/engines.ts');
  checkFiles(config, disk);
  const { loadAddedDetectors, warnOfUnmatched } = await import('../../../daemon/start/loaded.ts');
  const added = loadAddedDetectors(config, disk);
  const engines = loadEngines();
  enginesFor(config, added.added, engines);
  const detectors = engines.detectorsWith(added.added).length - engines.detectors.length;
  const catalogues = createCatalogues(config, ownTables());
  checkTools(config, catalogues);
  const known = namesInFiles(config, catalogues, engines.idsWith(added.added));
  const told: string[] = [];
  const log = {
    warn(fields: object, sentence: string) {
      const { warning, ...places } = fields as { readonly warning?: string };
      const place = Object.values(places).join(':');
      told.push(warning === undefined ? `${sentence}: ${place}` : `${place}: ${warning}`);
    },
  };
  warnOfUnmatched(added, log);
  const policies = loadPolicyFiles(config, known, log, disk).flatMap((it) => it.documents).length;
  const { findUnknownAgents } = await import('../../unknown-agents.ts');
  const agents = await findUnknownAgents(config);
  if (agents.mistakes.length > 0) throw new ConfigError(file, agents.mistakes);
  const { bodyLimitsInForce } = await import('../../body-limits.ts');
  const bodyLimits = bodyLimitsInForce(config, catalogues.common.bodyLimits);
  const { findWarningsOutside } = await import('../../configuration-warnings.ts');
  const ofTenants = [...config.tenants.keys()].map((id) => catalogues.of(id));
  const tools = [catalogues.common, ...ofTenants].flatMap(toolsKnownTo);
  const toolNames = [...new Set(tools.map(({ name }) => name))];
  const found = findWarningsOutside(config, disk, { nowMs: Date.now(), toolNames });
  const outside = withPlaces(new ConfigError(file, found)).mistakes;
  const warnings = [...[...config.warnings, ...outside].map(mistakeSentence), ...told, ...agents.warnings];
  return { policies, detectors, warnings, bodyLimits };
}

async function tellChecked(file: string, config: Config, checked: Checked, json: boolean): Promise<void> {
  const { toldBodyLimits } = await import('../../body-limits.ts');
  const { policies, detectors, warnings, bodyLimits } = checked;
  const added = detectors > 0 ? `, ${counted(detectors, 'detector', 'detectors')} in files` : '';
  const { size: tenants } = config.tenants;
  await print(
    json
      ? `${toJson({ file, ok: true, tenants, policies, detectors, warnings, body_limits: bodyLimits })}\n`
      : [
          `${file} is valid: ${counted(tenants, 'tenant', 'tenants')}, ${counted(policies, 'policy', 'policies')} in files${added}.`,
          ...toldBodyLimits(bodyLimits),
          ...warnings.map((it) => `warning: ${it}`),
        ]
          .map((it) => `${printable(it)}\n`)
          .join(''),
  );
}

const counted = (count: number, one: string, several: string): string =>
  `${count} ${count === 1 ? one : several}`;
