/** Declares the used part of `node-forge`. The whole package takes ten times as long to load. */
declare module 'node-forge/lib/asn1.js' {
  export { asn1 as default } from 'node-forge';
}
