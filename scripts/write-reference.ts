// Owns: writing the generated pages of docs/reference, and the man page.
// Refuses: what is on them; see reference-pages.ts and man-page.ts.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { manPage } from './man-page.ts';
import { referencePages } from './reference-pages.ts';

const folder = join(import.meta.dirname, '../docs/reference');
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(await referencePages())) writeFileSync(join(folder, name), text);
const man = join(import.meta.dirname, '../man');
mkdirSync(man, { recursive: true });
writeFileSync(join(man, 'haft.1'), await manPage());
