import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import type { Store, TraceFilter } from '../../../state/store.ts';
import { csvExport } from '../../exports/csv.ts';
import type { ExportFormat } from '../../exports/format.ts';
import { ndjson } from '../../exports/ndjson.ts';
import { ocsf } from '../../exports/ocsf.ts';
import { toFilter, traceFilterQuery, traceTimes } from '../../fields/trace-query.ts';
import { routesOf, StreamedAnswer } from '../../route.ts';

const route = routesOf('activity');

const formats = { ndjson, csv: csvExport, ocsf } as const satisfies Record<string, ExportFormat>;
const formatNames = Object.keys(formats) as readonly (keyof typeof formats)[];

const perTenantMax = 2;
const inAllMax = 8;
/** `GET /v1/traces/export` streams all traces that match, newest first, as fast as the client reads. */
export const exportTracesRoute = route('GET /v1/traces/export', {
  summary: 'Export traces',
  access: 'activity:read',
  query: z.object({
    ...traceFilterQuery,
    ...traceTimes,
    format: z
      .enum(formatNames)
      .default('ndjson')
      .describe('ocsf: API Activity (6003) of OCSF 1.9.0, one event a line.'),
  }),
  answer: z.string().describe('An answer that is cut off ends without the last chunk of HTTP.'),
  answerTypes: [...new Set(formatNames.map((it) => formats[it].contentType))],
  perKeyMax: 1,
  perTenantMax,
  inAllMax,
  async handle({ gate, query, tenantId, signal }) {
    const format = formats[query.format];
    const pieces = piecesOf(gate.store, {
      tenantId: tenantId(),
      filter: toFilter(query),
      format,
      signal: signal(),
    });
    const disposition = `attachment; filename="postern-traces.${format.extension}"`;
    return new StreamedAnswer(format.contentType, pieces, ['Content-Disposition', disposition]);
  },
});

interface Export {
  readonly tenantId: string;
  readonly filter: TraceFilter;
  readonly format: ExportFormat;
  /** Aborts when nobody waits for the rest. */
  readonly signal: AbortSignal;
}

async function* piecesOf(
  store: Pick<Store, 'exportTraces'>,
  { tenantId, filter, format, signal }: Export,
): AsyncGenerator<string> {
  let isBegun = false;
  for await (const traces of store.exportTraces(tenantId, filter)) {
    if (signal.aborted) return;
    const text = traces.map(format.toText).join('');
    // The head comes after the first read, which may fail.
    yield isBegun ? text : `${format.head}${text}`;
    isBegun = true;
    // Others have their turn between the pieces.
    await nextTurn();
  }
  if (!isBegun) yield format.head;
}
