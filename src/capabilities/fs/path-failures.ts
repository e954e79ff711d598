// Owns: the failures of places and files, and how an error of the operating system becomes one.
// Refuses: to repeat the system's own message, which may name a path outside of the workspace.
import { type Failure, fail, isFailure, type Reason } from '../../contract/errors.ts';
import { nameOf, type Root } from './root.ts';

/** What a failed access was about: `verb` is the first word of the message. */
export interface Attempt {
  readonly root: Root;
  readonly rel: string;
  readonly verb: string;
}

export function outside(attempt: Attempt): Failure {
  return fail(
    'path.outside_workspace',
    `${cannot(attempt)}: a link on the way leads outside of the workspace`,
  );
}

export function raced(attempt: Attempt): Failure {
  return fail('path.raced', `${cannot(attempt)}: it kept changing meanwhile`);
}

export function notAFile(attempt: Attempt, isDirectory: boolean): Failure {
  return isDirectory
    ? fail('path.is_directory', `${cannot(attempt)}: it is a directory`)
    : fail('path.not_regular', `${cannot(attempt)}: it is neither a regular file nor a directory`);
}

/** `Cannot read "src/lib.rs"` */
export function cannot({ root, rel, verb }: Attempt): string {
  return `Cannot ${verb} "${nameOf(root, rel)}"`;
}

/** A failure passes through as it is. */
export function osFailure(thrown: unknown, attempt: Attempt): Failure {
  if (isFailure(thrown)) return thrown;
  const errno = errnoOf(thrown);
  const [reason, fact] = FACTS[errno] ?? ['file.io', `the operating system reports ${errno}`];
  return fail(reason, `${cannot(attempt)}: ${fact}`, { errno });
}

/** The symbolic error number, `ENOENT`; `unknown` for what is no system error. */
export function errnoOf(thrown: unknown): string {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  return typeof code === 'string' ? code : 'unknown';
}

const FACTS: { readonly [errno: string]: readonly [Reason, string] } = {
  ENOENT: ['path.not_found', 'nothing is there'],
  ENOTDIR: ['path.not_directory', 'a part of the path is not a directory'],
  EISDIR: ['path.is_directory', 'it is a directory'],
  EEXIST: ['path.exists', 'something is already there'],
  ENOTEMPTY: ['path.not_empty', 'the directory is not empty'],
  ELOOP: ['path.invalid', 'its links lead in a circle'],
  ENAMETOOLONG: ['path.invalid', 'the name is too long'],
  EINVAL: ['path.invalid', 'the operating system does not take this path'],
  EILSEQ: ['path.invalid', 'the file system does not take this name'],
  ERR_INVALID_ARG_VALUE: ['path.invalid', 'the path has a NUL byte'],
  EACCES: ['path.denied_by_os', 'the operating system denies it'],
  EPERM: ['path.denied_by_os', 'the operating system denies it'],
  EBUSY: ['path.denied_by_os', 'the operating system is using it'],
  ETXTBSY: ['path.denied_by_os', 'it is a program that is running'],
  ENXIO: ['path.not_regular', 'it is neither a regular file nor a directory'],
  ENOSPC: ['file.no_space', 'the disk is full'],
  EDQUOT: ['file.no_space', 'the disk quota is used up'],
  EFBIG: ['file.no_space', 'the file system does not take a file of this size'],
  EROFS: ['file.read_only', 'the file system is read-only'],
  EXDEV: ['file.io', 'source and destination lie on different file systems'],
  EMFILE: ['file.io', 'too many files are open'],
  ENFILE: ['file.io', 'too many files are open'],
  EIO: ['file.io', 'the disk reports an error'],
};
