import { openLog } from '../../src/core/log.ts';

/* Writes so many lines of a kilobyte into the log, says so, and waits for its end. */

const log = openLog({ level: 'info', file: null });
for (let at = 0; at < Number(process.argv[2]); at += 1) log.info({ reason: 'x'.repeat(1_000) }, `line ${at}`);
process.stdout.write('done\n');
process.stdin.resume();
