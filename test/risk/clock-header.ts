/** In ms since 1970; see `clock-preload.ts`. */
export const clockHeader = 'x-test-clock-ms';
