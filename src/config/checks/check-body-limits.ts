import { megabyte, parseSize, sizeText } from '../../util/byte-size.ts';
import { entriesOf, type Mapping, mapping } from '../written.ts';
import type { UnplacedMistake } from './issues.ts';
import type { Path } from './mistakes.ts';

const key = 'max_body_bytes';
const totalPath: Path = ['limits', 'max_body_bytes_total'];
const defaultTotal = 64 * megabyte;
const defaultLimit = 256 * 1024;

/**
 * Finds body limits above what all bodies of one agent may have together. A body of such a size could never
 * be read.
 */
export function checkBodyLimits(root: Mapping): readonly UnplacedMistake[] {
  const limits = mapping(root['limits']);
  const total = sizeOf(limits['max_body_bytes_total']) ?? defaultTotal;
  const places: readonly { readonly path: Path; readonly holder: unknown }[] = [
    { path: ['limits'], holder: limits },
    ...Object.entries(mapping(root['plans'])).map(([name, holder]) => ({ path: ['plans', name], holder })),
    ...entriesOf(root, 'tenants').map(({ path, item }) => ({
      path: [...path, 'limits'],
      holder: item['limits'],
    })),
    ...(['inbound', 'tools'] as const).flatMap((name) =>
      entriesOf(root, name).map(({ path, item }) => ({ path, holder: item })),
    ),
  ];
  const findings = places.flatMap(({ path, holder }) => {
    const bytes = sizeOf(mapping(holder)[key]);
    if (bytes === undefined || bytes <= total) return [];
    const message = `is more than limits.max_body_bytes_total (${sizeText(total)}), so such a body would never have room; raise that one, or lower this one`;
    return [{ path: [...path, key], message }];
  });
  const isBelowDefault = limits[key] === undefined && total < defaultLimit;
  const below = `is less than the default of limits.max_body_bytes (${sizeText(defaultLimit)}); raise it, or write a lower max_body_bytes`;
  return isBelowDefault ? [...findings, { path: totalPath, message: below }] : findings;
}

const sizeOf = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : typeof value === 'string' ? parseSize(value) : undefined;
