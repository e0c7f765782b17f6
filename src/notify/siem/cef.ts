import type { Band } from '../../core/call.ts';
import { plain, toBrief } from '../brief.ts';
import type { Message } from '../notice.ts';

/* Writes a line of ArcSight's Common Event Format 0: a head parted by `|`, then `key=value` by spaces. */

const severities: Readonly<Record<Band, number>> = { LOW: 3, MEDIUM: 5, HIGH: 8, CRITICAL: 10 };

/**
 * Returns a field of the head, with backslash and bar escaped. `plain` leaves no line break, which none may
 * have.
 */
const toHead = (text: string): string => plain(text, 512).replace(/[\\|]/g, '\\$&');

/** Returns a value of the extension, with backslash and equals sign escaped. */
const toValue = (text: string): string => plain(text, 1023).replace(/[\\=]/g, '\\$&');

export function toCef(message: Message): string {
  const { notice, messageId, count, digest } = message;
  const { title, summary } = toBrief(message);
  const { data } = notice;
  const head = ['CEF:0', 'Postern', 'Postern', '1', toHead(notice.kind), toHead(title)].join('|');
  const text = (name: string): string | null => (typeof data[name] === 'string' ? data[name] : null);
  const own = (at: number, label: string, value: string | null): [string, string | null][] =>
    value === null || value === ''
      ? []
      : [
          [`cs${at}Label`, label],
          [`cs${at}`, value],
        ];
  const fields: readonly (readonly [string, string | null])[] = [
    ['rt', String(notice.atMs)],
    ['externalId', messageId],
    ['suid', notice.agentId],
    ['suser', notice.agentName],
    ['app', notice.toolName],
    ['act', text('decision') ?? text('status')],
    ['reason', Array.isArray(data['reason_codes']) ? data['reason_codes'].map(String).join(',') : null],
    ['requestMethod', text('method')],
    ['request', text('url')],
    ['msg', summary],
    ...own(1, 'tenant', notice.tenantId),
    ...own(2, 'environment', notice.envName),
    ...own(3, 'trace', text('trace_id')),
    ...own(4, 'operation', text('operation')),
    ...own(5, 'approval', text('approval_id')),
    ['cnt', count > 1 ? String(count) : null],
    ['start', digest ? String(digest.firstMs) : null],
    ['end', digest ? String(digest.lastMs) : null],
  ];
  const extension = fields
    .filter((it): it is readonly [string, string] => it[1] !== null && it[1] !== '')
    .map(([key, value]) => `${key}=${toValue(value)}`);
  return `${head}|${severities[notice.severity]}|${extension.join(' ')}`;
}
