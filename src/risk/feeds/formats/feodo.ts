import { JsonReader } from '../json.ts';
import { readColumns } from './columns.ts';
import type { Format } from './format.ts';
import { readLines } from './plain-lines.ts';

const columns = ['first_seen_utc', 'dst_ip', 'dst_port', 'c2_status', 'last_online', 'malware'];

/**
 * Feodo Tracker (abuse.ch): `ipblocklist.json`, `.csv` and `.txt`. Ports are ignored, because the whole host
 * is bad.
 */
export const feodo: Format = {
  referenceBase: '',
  open(intake, opening) {
    const take = (ip: string, malware: string): void =>
      intake.take({ text: ip, kind: 'range', threat: malware === '' ? 'botnet' : `botnet ${malware}` });
    if (/^[[{]/.test(opening)) {
      return new JsonReader({
        wanted: ['ip_address', 'dst_ip', 'malware'],
        onObject: ({ ip_address, dst_ip, malware = '' }) => {
          const ip = ip_address ?? dst_ip;
          if (ip === undefined) intake.malformed();
          else take(ip, malware);
        },
      });
    }
    if (!opening.includes(',')) return readLines(intake, (line) => take(line, ''));
    return readColumns(columns, 'dst_ip', (row) => take(row('dst_ip'), row('malware')));
  },
};
