import { noHead, type ReadHead } from '../call.ts';
import { kept } from '../kept.ts';

const heads = new WeakMap<object, ReadHead>();

/** Returns what is remembered of the last call on a connection of a listener; its requests show keys, so their fields are not kept. */
export const lastHeadOn = (connection: object): ReadHead => kept(heads, connection, () => noHead(false));
