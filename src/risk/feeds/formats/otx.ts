import { JsonReader } from '../json.ts';
import type { Listed } from '../readers.ts';
import { readColumns } from './columns.ts';
import type { Format } from './format.ts';

const kinds: Readonly<Record<string, Listed['kind']>> = {
  ipv4: 'range',
  ipv6: 'range',
  cidr: 'range',
  domain: 'host',
  hostname: 'host',
  url: 'url',
  uri: 'url',
};

/**
 * Open Threat Exchange: pulses as JSON (one, a list, or pages of them), the export of indicators as JSON, and
 * the CSV of a pulse. An entry that is neither URL nor host nor address is passed over, such as the hash of a
 * file. So is an entry that the pulse has taken back.
 */
export const otx: Format = {
  referenceBase: 'https://otx.alienvault.com/pulse/',
  open(intake, opening) {
    const take = (type: string, indicator: string, pulse: string, title: string): void => {
      const name = type.toLowerCase();
      const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
      const reference = /^[0-9a-f]{24}$/.test(pulse) ? pulse : '';
      // A URI may be only a path.
      const isOurs = kind !== undefined && !(kind === 'url' && indicator.startsWith('/'));
      if (type === '') intake.malformed();
      else if (!isOurs) intake.skip();
      else intake.take({ text: indicator, kind, reference, threat: title });
    };
    if (/^[[{]/.test(opening)) {
      return new JsonReader({
        wanted: ['id', 'name', 'indicator', 'type', 'title', 'is_active'],
        onObject({ indicator, type = '', title = '', is_active }, [pulse]) {
          if (indicator === undefined) return;
          if (is_active === '0' || is_active === 'false') intake.skip();
          else take(type, indicator, pulse?.['id'] ?? '', pulse?.['name'] ?? title);
        },
      });
    }
    return readColumns(['indicator type', 'indicator', 'description'], 'indicator', (row) =>
      take(row('indicator type') || row('type'), row('indicator'), '', row('description')),
    );
  },
};
