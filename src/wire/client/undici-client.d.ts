/** The one part of the package `undici` that is used. The package as a whole takes twice as long to load. */
declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici';
}
