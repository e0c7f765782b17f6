import { z } from 'zod';
import { parseConfig } from '../../config/load.ts';
import { toShown } from '../../config/show.ts';
import { routesOf } from '../route.ts';

const route = routesOf('config');

const shown = z.record(z.string(), z.unknown());

/** `GET /v1/config` shows the configuration of daemon and all tenants, hence to the admin secret alone. */
export const showConfig = route('GET /v1/config', {
  summary: 'Show the configuration in effect, which is that of all tenants',
  access: 'secret',
  isForSecret: true,
  answer: z
    .object({
      file: z.string().nullable().describe('Null where there is none.'),
      config: shown.describe('Every default filled in, every secret hidden.'),
      origins: z
        .array(
          z.object({
            path: z.string().describe('As in the file; tenants and routes by their names.'),
            from: z.enum(['file', 'environment', 'command line', 'first start']),
            line: z.int().optional().describe('Of the file'),
            name: z.string().optional().describe('The variable, the option, or the file it is put in from'),
          }),
        )
        .describe('Where each value is set; what is not here is a default.'),
      defaults: shown.describe('What it would be if the file had the ids of its tenants and nothing else.'),
    })
    .meta({ id: 'ShownConfig' }),
  handle({ gate: { config } }) {
    const tenants = [...config.tenants.keys()].map((id) => ({ id }));
    const bare = parseConfig(JSON.stringify({ tenants }), { file: config.file, env: {} });
    return {
      file: config.file ?? null,
      config: toShown(config),
      origins: [...config.origins],
      defaults: toShown(bare),
    };
  },
});
