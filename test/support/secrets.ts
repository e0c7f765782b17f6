import { randomBytes } from 'node:crypto';

/** Texts that detectors must find, made at run time: a literal one would be taken for a leak by whoever scans this repository. */

const pick = (alphabet: string, length: number): string =>
  Array.from(randomBytes(length), (byte) => alphabet[byte % alphabet.length]).join('');

/** An AWS access key id: four letters and 16 of base32. */
export const awsKeyId = (): string => `AKIA${pick('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16)}`;

/** A GitLab personal access token. */
export const gitlabToken = (): string =>
  `glpat-${pick('abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789', 20)}`;
