/** The one part of the package `node-forge` that is used. The package as a whole takes ten times as long to load. */
declare module 'node-forge/lib/asn1.js' {
  export { asn1 as default } from 'node-forge';
}
