import { CsvReader } from '../csv.ts';
import { JsonReader } from '../json.ts';
import { FeedRefused } from '../refused.ts';
import type { Format } from './format.ts';
import { readLines } from './plain-lines.ts';

/* Lists whose format has no name of its own. The kind of an entry is seen by its look. */

/**
 * Lines that each begin with a URL, host, address or CIDR, up to a space, or are of a hosts file (`0.0.0.0
 * host`).
 */
export const lines: Format = {
  referenceBase: '',
  open: (intake) =>
    readLines(intake, (line) => {
      const [first = '', second = ''] = line.split(/\s+/, 2);
      const isHostsFile = /^(?:0\.0\.0\.0|127\.0\.0\.1|::1?)$/.test(first) && /^[^#;]/.test(second);
      const isTold = second === '' || isHostsFile || /^[#;]/.test(second);
      if (isTold) intake.take({ text: isHostsFile ? second : first.replace(/;$/, '') });
      else intake.malformed();
    }),
};

/** Lines that are each an address or CIDR, with a comment behind `;` or `#`. */
export const cidr: Format = {
  referenceBase: '',
  open: (intake) =>
    readLines(intake, (line) => {
      const [text = '', comment = ''] = line.split(/[;#]/, 2);
      intake.take({ text, kind: 'range', reference: comment.trim() });
    }),
};

const indicatorNames = [
  ...[
    'indicator',
    'url',
    'host',
    'hostname',
    'domain',
    'ip',
    'ip_address',
    'dst_ip',
    'cidr',
    'network',
    'value',
  ],
];
const referenceNames = ['reference', 'link', 'id'];
const threatNames = ['threat', 'threat_type', 'malware', 'category', 'description'];

const firstOf = (names: readonly string[], value: (name: string) => string | undefined): string | undefined =>
  names.map(value).find((it) => it !== undefined && it !== '');

/**
 * Rows under named columns, one of which is `indicator`, `url`, `host`, `domain`, `ip`, `cidr` or the like.
 */
export const csv: Format = {
  referenceBase: '',
  open(intake) {
    let names: readonly string[] | undefined;
    return new CsvReader({
      onRow(fields) {
        if (names === undefined) {
          names = fields.map((it) => it.toLowerCase());
          if (names.some((it) => indicatorNames.includes(it))) return;
          throw new FeedRefused(`The first row names no column of indicators: ${indicatorNames.join(', ')}.`);
        }
        const memberOf = (name: string) => fields[names?.indexOf(name) ?? -1];
        const text = firstOf(indicatorNames, memberOf);
        if (text === undefined) intake.malformed();
        else
          intake.take({
            text,
            reference: firstOf(referenceNames, memberOf),
            threat: firstOf(threatNames, memberOf),
          });
      },
    });
  },
};

/**
 * JSON of one document or of lines: objects at any depth with a member named like the columns of `csv`, or
 * arrays of texts.
 */
export const json: Format = {
  referenceBase: '',
  open: (intake) =>
    new JsonReader({
      isMany: true,
      wanted: [...indicatorNames, ...referenceNames, ...threatNames],
      onItem: (text) => intake.take({ text }),
      onObject(members) {
        const memberOf = (name: string) => members[name];
        const text = firstOf(indicatorNames, memberOf);
        if (text === undefined) return;
        intake.take({
          text,
          reference: firstOf(referenceNames, memberOf),
          threat: firstOf(threatNames, memberOf),
        });
      },
    }),
};
