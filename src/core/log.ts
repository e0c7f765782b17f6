import pino, { type Logger } from 'pino';
import { GatewayError } from './errors.ts';
import { LogWriter } from './log-writer.ts';
import { toPretty } from './pretty-log.ts';
import type { SafeName } from './safe-name.ts';

/** The fields that no caller chooses: ids of the gateway, and names from its configuration and code. */
type OwnField =
  | (
      | 'err'
      | 'trace_id'
      | 'tenant_id'
      | 'tenantId'
      | 'agent_id'
      | 'key_id'
      | 'client_address'
      | 'event'
      | 'scan'
    )
  | ('feed' | 'channel' | 'status' | 'reason' | 'file' | 'dir' | 'pattern' | 'warning' | 'mistakes')
  | ('signal' | 'credential' | 'loaded_at' | 'code' | 'kind');

type Loggable =
  | (SafeName | number | boolean | null | undefined)
  | readonly Loggable[]
  | { readonly [name: string]: Loggable };

/** The fields of a line. A field that a caller may have chosen must be a `SafeName`. */
type Fields<T> = {
  readonly [K in keyof T]: K extends OwnField ? T[K] : T[K] extends Loggable ? T[K] : SafeName;
};

type Write = <T extends object>(fields: T & Fields<T>, sentence: string) => void;

/** The operator's log. Its lines say what happened to the daemon. What happened to calls stands in traces. */
export interface Log {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
  readonly fatal: Write;
}

/** The log of a whole process. A reload may send it to another file. */
export interface ProcessLog extends Log {
  /**
   * Goes on with other options. The file is opened anew, so that a rotated one is left. Where it cannot be
   * opened, the lines go where they went before.
   */
  use(options: LogOptions): void;
}

interface LogOptions {
  readonly level: string;
  /** The path of the log; null for standard error. */
  readonly file: string | null;
}

/**
 * Opens the log: JSON lines on standard error or in `file`, or text where standard error is a terminal.
 * Nobody may give it a header, a body or a key.
 */
export function openLog(options: LogOptions): ProcessLog {
  let { file } = options;
  const out = new LogWriter(file, (err, dropped) =>
    lines.warn({ err, dropped }, 'the log can be written again'),
  );
  const hasColours = (process.env['NO_COLOR'] ?? '') === '';
  const isRead = process.stderr.isTTY;
  const shown = (line: string): string => (isRead && file === null ? toPretty(line, hasColours) : line);
  const lines: Logger = pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: toLogged },
    },
    { write: (line: string) => out.write(shown(line)) },
  );
  return Object.assign(lines, {
    use(next: LogOptions): void {
      lines.level = next.level;
      if (file === null && next.file === null) return;
      try {
        out.open(next.file);
      } catch (error) {
        lines.error({ err: error, file: next.file }, 'the log cannot be opened; it goes on as before');
        return;
      }
      file = next.file;
    },
  });
}

const messageLengthMax = 1_024;
const causesMax = 4;

/**
 * Writes an error as its type, code, origin and causes. Messages of libraries may quote secrets. Therefore
 * only messages of the gateway, of the file system and of bugs are kept.
 */
export function toLogged(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack = '' } = error;
  // A `SuppressedError` stands for failures to close one after the other. The earliest tells the most.
  const cause = error instanceof SuppressedError ? error.suppressed : error.cause;
  const { code, syscall, errcode, path } = error as NodeJS.ErrnoException & { errcode?: unknown };
  const isOwn = error instanceof GatewayError || (syscall !== undefined && path !== undefined);
  const isBug = code === undefined && !(error instanceof SyntaxError) && name !== 'ReplyError';
  return {
    type: name,
    ...(isOwn || isBug ? { message: message.slice(0, messageLengthMax) } : {}),
    // Redis puts the kind of an error into the first word of its message.
    ...(name === 'ReplyError' ? { code: /^[A-Z]{2,32}/.exec(message)?.[0] } : {}),
    ...(code === undefined ? {} : { code }),
    ...(syscall === undefined ? {} : { syscall }),
    ...(errcode === undefined ? {} : { errcode }),
    stack: stack.match(/^ +at .*$/gm)?.join('\n'),
    ...(cause === undefined || depth >= causesMax ? {} : { cause: toLogged(cause, depth + 1) }),
  };
}
