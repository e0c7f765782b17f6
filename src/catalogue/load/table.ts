import { verbs } from '../../core/call.ts';
import { plainRoute } from '../paths.ts';
import type { OperationEntry, Surface } from './schema.ts';

/*
 * Tables of operations as `config/tools/generated/build.ts` writes them: a line each of verb, methods, path,
 * category and name. Thousands of lines are read this way in a few milliseconds; YAML would take seconds.
 */

const line = /^([A-Z]+) (\S+ \/\S*) ([a-z][a-z0-9_]{0,127}) ([a-z][a-z0-9_]{0,127})$/;

/** Returns the operations of a table below the base paths, or a sentence on the first line that is wrong. */
export function parseTable(text: string, basePaths: Surface['base_paths']): Surface | string {
  const operations: Record<string, Record<string, OperationEntry>> = {};
  for (const [index, written] of text.split('\n').entries()) {
    if (written === '' || written.startsWith('#')) continue;
    const [, verbText = '', call = '', category = '', name = ''] = line.exec(written) ?? [];
    const verb = verbs.find((it) => it === verbText);
    const route = plainRoute(call);
    if (!verb || !route) return `line ${index + 1}: is no verb, methods, path, category and name`;
    const entries = operations[category] ?? {};
    operations[category] = entries;
    const known = entries[name];
    if (known && known.verb !== verb) return `line ${index + 1}: ${name} is both ${known.verb} and ${verb}`;
    entries[name] = { verb, call: [...(known?.call ?? []), route] };
  }
  return { base_paths: basePaths, ignore_case: false, odata: false, extract: {}, operations };
}
