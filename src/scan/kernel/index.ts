export { match, position, useTables } from './match';
export { outline } from './outline';
