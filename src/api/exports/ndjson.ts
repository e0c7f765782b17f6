import type { ExportFormat } from './format.ts';

/** Traces as they are kept, one a line. */
export const ndjson: ExportFormat = {
  contentType: 'application/x-ndjson',
  extension: 'ndjson',
  head: '',
  toText: (trace) => `${trace}\n`,
};
