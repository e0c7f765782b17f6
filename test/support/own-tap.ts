import { fileTests } from './file-tests.ts';

/* What `tap` is to a test file that shares its process: the test that stands for the file, whose URL is the query `of`. */

export default fileTests.get(new URL(import.meta.url).searchParams.get('of') ?? '');
