import pino from 'pino';

/** The operator's log. Lines say what happened to the daemon; what happened to calls stands in traces. */
export type Log = pino.Logger;

/** Opens the log: JSON lines on standard error, or in `file`. Never given a header, a body or a key by anyone. */
export function openLog(options: { level: string; file: string | null }): Log {
  return pino(
    { level: options.level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: options.file ?? 2, sync: true, mkdir: true }),
  );
}
