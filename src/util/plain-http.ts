import type { ClientRequest, RequestOptions } from 'node:http';

/**
 * Members of Node's `node:http`. An `import` of them by value asks for all members of that module. Node then
 * loads a browser's WebSocket and fetch, which cost 17 MB and a tenth of a second in each thread.
 */
export const { METHODS, STATUS_CODES, request } = process.getBuiltinModule('node:http');

/** Makes a request over TLS. Its module is loaded with the first one. */
export const secureRequest = (options: RequestOptions): ClientRequest =>
  process.getBuiltinModule('node:https').request(options);
