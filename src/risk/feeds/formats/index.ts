import { feodo } from './feodo.ts';
import type { Format } from './format.ts';
import { cidr, csv, json, lines } from './generic.ts';
import { openphish } from './openphish.ts';
import { otx } from './otx.ts';
import { phishtank } from './phishtank.ts';
import { spamhausDrop } from './spamhaus-drop.ts';
import { urlhaus } from './urlhaus.ts';

/** The formats of feeds by the name that the configuration has. */
export const formats = {
  urlhaus,
  openphish,
  phishtank,
  feodo,
  spamhaus_drop: spamhausDrop,
  otx,
  lines,
  csv,
  json,
  cidr,
} as const satisfies Record<string, Format>;

export type FeedFormat = keyof typeof formats;
