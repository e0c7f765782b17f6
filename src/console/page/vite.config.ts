import { defineConfig } from 'vite';

/** Builds the page of the console into `dist/console/page`; `CONSOLE_OUT` names another folder. */
export default defineConfig({
  root: import.meta.dirname,
  // The base is relative, so that the page works behind any prefix.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: process.env['CONSOLE_OUT'] ?? '../../../dist/console/page',
    emptyOutDir: true,
    target: 'es2022',
    cssTarget: 'chrome123',
    reportCompressedSize: false,
    // The Content-Security-Policy allows no inlined scripts, and fonts from the daemon alone.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
