// Owns: the shell text that reads, on a node, what an image says of the environment: from a file beside its unpacked file system.
// Refuses: an image without that file: its programs would not find what they find on other backends.

/** Adds `words` to the arguments for each `line` of the file. `root` is where the image is. */
export const IMAGE_ENV = (words: string): string => `
environment=\${root%/}.env
[ -r "$environment" ] || cannot 'the node does not have the ENV of the image: write it to a file named like its folder with ".env" at the end (docker image inspect --format "{{range .Config.Env}}{{println .}}{{end}}" IMAGE)'
while IFS= read -r line || [ -n "$line" ]; do
  case $line in
    '') ;;
    [!=]*=*) set -- "$@" ${words} ;;
    *) cannot 'the ENV of the image is not as it must be: one NAME=value on each line' ;;
  esac
done <"$environment"`;
