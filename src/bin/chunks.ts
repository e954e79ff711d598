// Owns: where the command goes on after its first step; the build puts `warm-chunks.ts` in the place of this file.
// Refuses: to load either before it is asked for.

export const loadMain = () => import('./main.ts');
export const loadMcpFront = () => import('./mcp-front.ts');
