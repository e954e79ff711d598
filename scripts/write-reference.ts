// Owns: writing the generated pages of docs/reference.
// Refuses: what is on them; see reference-pages.ts.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { referencePages } from './reference-pages.ts';

const folder = join(import.meta.dirname, '../docs/reference');
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(await referencePages())) writeFileSync(join(folder, name), text);
