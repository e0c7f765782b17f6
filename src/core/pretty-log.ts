const levels: ReadonlyMap<unknown, readonly [name: string, colour: number]> = new Map([
  [10, ['TRACE', 90]],
  [20, ['DEBUG', 90]],
  [30, ['INFO', 32]],
  [40, ['WARN', 33]],
  [50, ['ERROR', 31]],
  [60, ['FATAL', 35]],
]);

/** Characters that steer a terminal or turn the order of a line. */
const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const escaped = (text: string): string =>
  text.replace(steering, (it) => `\\u{${it.codePointAt(0)?.toString(16)}}`);

/** Writes a log line for a terminal: time, level, sentence and fields, and an error's stack below. */
export function toPretty(line: string, hasColours: boolean): string {
  const { level, time, msg, pid: _, err, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const painted = (text: string, colour: number): string =>
    hasColours ? `\u001b[${colour}m${text}\u001b[0m` : text;
  const [name, colour] = levels.get(level) ?? [String(level), 0];
  const clock = String(time).slice(11, 23);
  const { stack, ...rest } = (err ?? {}) as Record<string, unknown>;
  const shown = Object.entries(err === undefined ? fields : { ...fields, err: rest });
  const texts = shown.map(([key, value]) => `${painted(key, 36)}=${escaped(toText(value))}`);
  const first = [painted(clock, 90), painted(name.padEnd(5), colour), escaped(String(msg)), ...texts].join(
    ' ',
  );
  return typeof stack === 'string'
    ? `${first}\n${stack.split('\n').map(escaped).join('\n')}\n`
    : `${first}\n`;
}

const toText = (value: unknown): string =>
  typeof value === 'string' && /^[\w.:/@*-]+$/.test(value) ? value : JSON.stringify(value);
