import { JsonReader } from '../json.ts';
import type { Reader } from '../readers.ts';
import { readColumns } from './columns.ts';
import type { Format } from './format.ts';
import { readLines } from './plain-lines.ts';

const columns = [
  ...['id', 'dateadded', 'url', 'url_status', 'last_online', 'threat', 'tags', 'urlhaus_link', 'reporter'],
];

/** URLhaus (abuse.ch): `csv_recent`, `csv_online`, `json_recent`, `text`, `text_recent` and `text_online`. */
export const urlhaus: Format = {
  referenceBase: 'https://urlhaus.abuse.ch/url/',
  open(intake, opening): Reader {
    const take = (url: string, link: string, threat: string): void => {
      const reference = /\/(\d{1,20})\/?$/.exec(link)?.[1] ?? '';
      intake.take({ text: url, kind: 'url', reference, threat });
    };
    if (/^[a-z]+:\/\//i.test(opening)) return readLines(intake, (line) => take(line, '', 'malware'));
    if (/^[[{]/.test(opening)) {
      return new JsonReader({
        wanted: ['url', 'urlhaus_link', 'threat'],
        onObject: ({ url, urlhaus_link = '', threat = '' }, around) => {
          if (url !== undefined) take(url, urlhaus_link, threat);
          else if (around.length > 0) intake.malformed();
        },
      });
    }
    return readColumns(columns, 'url', (row) => take(row('url'), row('urlhaus_link'), row('threat')));
  },
};
