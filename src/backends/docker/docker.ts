// Owns: the backend `docker` as policy, toolpacks and `haft doctor` know it: an engine on this machine, Docker's or Podman's.
// Refuses: to load the engine's client before it is opened.
import type { BackendKind } from '../../contract/backend.ts';

declare module '../../contract/policy.ts' {
  interface RunsPolicy {
    readonly docker?: { readonly socket?: string };
  }
}

export const docker: BackendKind = {
  name: 'docker',
  images: 'needed',
  dialect: { io: false, mayOmitImage: false, dest: 'destName', below: '' },
  settings: () => ({
    is: 'map',
    doc: 'The engine of the docker backend.',
    keys: {
      socket: {
        is: 'text',
        check: 'place',
        doc: 'The UNIX socket of Docker, or of the service of Podman. By default that of `DOCKER_HOST`, or `/var/run/docker.sock`.',
      },
    },
  }),
  programs: () => [
    {
      name: 'Docker',
      command: 'docker',
      neededFor: 'runs in containers (runs: backend docker)',
      packageName: 'docker.io',
      reach: () => ({}),
      start: 'Start it: systemctl start docker; or name its socket (runs: docker.socket, or DOCKER_HOST)',
    },
    {
      name: 'Podman',
      command: 'podman',
      neededFor: 'runs in containers, in the place of Docker (runs: docker.socket)',
      packageName: 'podman',
      reach: ({ XDG_RUNTIME_DIR: own }) => ({
        socket: `${process.getuid?.() === 0 || own === undefined ? '/run' : own}/podman/podman.sock`,
      }),
      start:
        'Start it: systemctl start podman.socket (an ordinary user: systemctl --user start podman.socket)',
    },
  ],
  async open({ scope, env }, { docker: settings, images = [], limits = {} }) {
    const { createDockerBackend } = await import('./docker-backend.ts');
    return createDockerBackend({
      socket: settings?.socket ?? socketOf(env.DOCKER_HOST),
      scope: await scope(),
      images,
      ...(limits.processes === undefined ? {} : { processes: limits.processes }),
      ...(limits.log_bytes === undefined ? {} : { logBytes: limits.log_bytes }),
    });
  },
};

const socketOf = (dockerHost: string | undefined): string =>
  dockerHost?.startsWith('unix://') ? dockerHost.slice('unix://'.length) : '/var/run/docker.sock';
