/** The parts of the tool catalogue that the rest of the gateway uses. */
export type { BodyLimits } from './body-limits.ts';
export { destinationOf } from './destination.ts';
export { CatalogueError, loadCatalogue, readToolTables, type ToolTables } from './load/load.ts';
export { type OperationSummary, type ToolFacts, type ToolSummary, toldFields } from './load/summary.ts';
export type { Request } from './request.ts';
export type { Catalogue } from './understand.ts';
