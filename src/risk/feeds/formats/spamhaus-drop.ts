import { JsonReader } from '../json.ts';
import type { Intake, Reader } from '../readers.ts';
import { FeedRefused } from '../refused.ts';
import type { Format } from './format.ts';
import { readLines } from './plain-lines.ts';

/**
 * Spamhaus DROP: `drop_v4.json` and `drop_v6.json`, and the old `drop.txt` (`CIDR ; SBL…`). The first two are
 * JSON lines, and the last line says how many entries there are.
 */
export const spamhausDrop: Format = {
  referenceBase: 'https://check.spamhaus.org/sbl/query/',
  open(intake, opening) {
    const take = (cidr: string, sblId: string): void => {
      const reference = /^SBL\d{1,12}$/.test(sblId) ? sblId : '';
      intake.take({ text: cidr, kind: 'range', reference, threat: 'hijacked network' });
    };
    if (opening.startsWith('{')) return readJsonLines(intake, take);
    return readLines(intake, (line) => {
      const [cidr = '', sblId = ''] = line.split(';');
      take(cidr, sblId.trim());
    });
  },
};

function readJsonLines(intake: Intake, take: (cidr: string, sblId: string) => void): Reader {
  /** The number of entries since the last metadata. Several lists may stand in one file. */
  let records = 0;
  let isTold = false;
  const json = new JsonReader({
    isMany: true,
    wanted: ['cidr', 'sblid', 'type', 'records'],
    onObject({ cidr, sblid = '', type, records: told = '0' }) {
      if (cidr !== undefined) {
        take(cidr, sblid);
        records++;
        isTold = false;
      } else if (type !== 'metadata') intake.malformed();
      else {
        if (records < Number(told))
          throw new FeedRefused(`The feed says that it has ${told} records and has ${records}.`);
        records = 0;
        isTold = true;
      }
    },
  });
  return {
    write: (bytes) => json.write(bytes),
    place: () => json.place(),
    end() {
      json.end();
      if (!isTold) throw new FeedRefused('The feed ends without the line that says how many records it has.');
    },
  };
}
