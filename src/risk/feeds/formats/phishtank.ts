import { JsonReader } from '../json.ts';
import { readColumns } from './columns.ts';
import type { Format } from './format.ts';

const columns = [
  ...[
    'phish_id',
    'url',
    'phish_detail_url',
    'submission_time',
    'verified',
    'verification_time',
    'online',
    'target',
  ],
];

/**
 * PhishTank: `online-valid.json` and `online-valid.csv`. Entries that nobody has verified are passed over.
 */
export const phishtank: Format = {
  referenceBase: 'https://phishtank.org/phish_detail.php?phish_id=',
  open(intake, opening) {
    const take = (url: string, id: string, verified: string, target: string): void => {
      const threat = target === '' || target === 'Other' ? 'phishing' : `phishing for ${target}`;
      if (verified === 'no') intake.skip();
      else intake.take({ text: url, kind: 'url', reference: /^\d{1,20}$/.test(id) ? id : '', threat });
    };
    if (/^[[{]/.test(opening)) {
      return new JsonReader({
        wanted: ['url', 'phish_id', 'verified', 'target'],
        onObject: ({ url, phish_id = '', verified = '', target = '' }, around) => {
          if (url !== undefined) take(url, phish_id, verified, target);
          // The object of a page holds objects without URL: the addresses that the page was seen at.
          else if (around.length === 0) intake.malformed();
        },
      });
    }
    return readColumns(columns, 'url', (row) =>
      take(row('url'), row('phish_id'), row('verified'), row('target')),
    );
  },
};
