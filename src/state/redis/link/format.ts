import { stateUnavailable } from '../../../core/errors.ts';
import { scripts } from '../scripts/scripts.ts';
import type { RedisConnection } from './connection.ts';
import type { Names } from './names.ts';

/*
 * Notes in which form records stand in Redis. Nodes of two versions work side by side while one after the
 * other is replaced, so nothing is rewritten. A version reads what the one before has written, and says of
 * its own records which version can read them. A form that the version before cannot read therefore takes two
 * releases: one that reads it, and one that writes it.
 */

export interface RecordFormat {
  /** The number of the format, which goes up by one with each change to the records. */
  readonly number: number;
  /** The oldest format whose versions can read such records. */
  readonly readableFrom: number;
}

/** The format of this version. */
export const recordFormat: RecordFormat = { number: 1, readableFrom: 1 };

/**
 * Notes in Redis that records of this format may stand there from now on. Throws STATE_UNAVAILABLE where a
 * newer version has written what this one cannot read; then nothing is changed.
 */
export async function agreeOnFormat(
  connection: RedisConnection,
  names: Names,
  { number, readableFrom }: RecordFormat,
): Promise<void> {
  const needed = Number(await connection.run(scripts.format, [names.format], [number, readableFrom]));
  if (needed > number)
    throw stateUnavailable(
      `The state in Redis needs format ${needed}, and this version of Postern knows ${number}: start the newer one.`,
    );
}

/** Returns the format that is noted in Redis; undefined where no version has noted one yet. */
export async function formatIn(connection: RedisConnection, names: Names): Promise<RecordFormat | undefined> {
  const noted = (await connection.call('HMGET', names.format, 'number', 'readable_from')) as unknown[];
  const [number, readableFrom] = noted.map((it) => (it === null ? undefined : Number(it)));
  return number === undefined || readableFrom === undefined ? undefined : { number, readableFrom };
}
