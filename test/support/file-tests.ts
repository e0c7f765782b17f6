import type { Test } from 'tap';

/** The test that stands for a file of a shared process, by the file's URL. */
export const fileTests = new Map<string, Test>();
