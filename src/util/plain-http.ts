/**
 * Constants of Node's `node:http`. An `import` of them by value asks for all members of that module. Node
 * then loads a browser's WebSocket and fetch, which cost 17 MB and a tenth of a second in each thread.
 */
export const { METHODS, STATUS_CODES } = process.getBuiltinModule('node:http');
