/** What the rest of the gateway needs of the tool catalogue. */
export { destinationOf } from './destination.ts';
export { CatalogueError, loadCatalogue } from './load.ts';
export type { Request } from './reading.ts';
export type { Catalogue, ToolSummary } from './understand.ts';
