// Owns: the JSON Schema of haft.yaml, for editors, made from the table.
// Refuses: keywords of its own.
import type { JsonSchema } from '../../contract/json.ts';
import { schemaOfShape } from '../yaml/shape-schema.ts';
import { HAFT_YAML } from './haft-yaml-shape.ts';

export const haftYamlSchema = (): JsonSchema => schemaOfShape('haft.yaml', HAFT_YAML);
