const minuteMs = 60_000;

/** Tells whether the runtime knows the zone: an IANA name, or an offset such as `+02:00`. */
export function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en-GB', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/** Returns the minutes since midnight of `HH:MM`; `24:00` is the end of the day. */
export const parseClockTime = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));

/**
 * Tells the wall-clock time of a zone, with daylight saving. It formats once a minute, because that costs 1
 * µs.
 */
export class ZoneClock {
  readonly #format: Intl.DateTimeFormat;
  #minute = Number.NaN;
  #minuteOfDay = 0;

  constructor(zone: string) {
    this.#format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      hour: '2-digit',
      minute: '2-digit',
    });
  }

  minuteOfDay(nowMs: number): number {
    const minute = Math.floor(nowMs / minuteMs);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#minuteOfDay = parseClockTime(this.#format.format(minute * minuteMs));
    }
    return this.#minuteOfDay;
  }
}

/**
 * Tells whether a minute of the day lies outside the window. `start` is in the window, `end` is not. A window
 * may pass midnight.
 */
export function isOutside(minute: number, start: number, end: number): boolean {
  return start < end ? minute < start || minute >= end : minute < start && minute >= end;
}
