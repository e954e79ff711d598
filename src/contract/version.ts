// Owns: which version of Haft this is; a test keeps it equal to package.json.
// Refuses: to be computed at run time, which would cost reading a file at every start.

export const VERSION = '0.1.0';
