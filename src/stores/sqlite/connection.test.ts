import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadSqlite } from './connection.ts';

describe('loadSqlite', () => {
  for (const missing of [undefined, () => undefined]) {
    it(`says which Node.js is needed where ${missing ? 'node:sqlite' : 'getBuiltinModule'} is missing`, (t) => {
      const { getBuiltinModule } = process;
      t.after(() => Object.assign(process, { getBuiltinModule }));
      Object.assign(process, { getBuiltinModule: missing });
      assert.throws(loadSqlite, {
        reason: 'node.too_old',
        message: `haft needs Node.js 22.19 or newer; this is ${process.versions.node}`,
      });
    });
  }
});
