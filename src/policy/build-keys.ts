// Owns: the sections that ask something of this very build, so that starting with none of them loads none.
// Refuses: to drift: build-keys.test.ts holds it to the list of sections.

export const BUILD_KEYS: readonly string[] = ['git', 'ast', 'validators'];
