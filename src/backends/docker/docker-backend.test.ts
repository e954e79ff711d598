import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withDocker } from '../../../scripts/engines/with-docker.ts';
import { backendSuite, makeAttempt } from '../../testing/backend-suite.ts';
import { openDocker, openerOn } from './docker-for-tests.ts';

const docker = withDocker();

describe('the docker backend', { skip: docker.skip }, () => {
  backendSuite('it', async () => openDocker(await docker.engine()));
});

const open = openerOn(docker);
const NOWHERE = `haft/nowhere@sha256:${'0'.repeat(64)}`;

describe('images of the docker backend', { skip: docker.skip }, () => {
  it('are pinned by the digest of their repository, or by their id where they have none', async (t) => {
    const engine = await docker.engine();
    const { backend } = await open(t);
    const tag = engine.images.busybox.replace(/@.*/, ':1');
    assert.deepEqual(await backend.pinImage?.(tag), {
      image: engine.images.busybox,
      by: 'repository_digest',
    });
    assert.deepEqual(await backend.pinImage?.(engine.images.busybox), {
      image: engine.images.busybox,
      by: 'repository_digest',
    });
    const id = engine.docker('image', 'inspect', engine.images.local, '--format', '{{.Id}}').trim();
    assert.deepEqual(await backend.pinImage?.(engine.images.local), { image: id, by: 'image_id' });
    await assert.rejects(backend.pinImage!('haft/nowhere:1'), { reason: 'run.infrastructure' });
  });

  it('run by their id when policy names that, a tag of theirs, or the repository of the tag', async (t) => {
    const engine = await docker.engine();
    const id = engine.docker('image', 'inspect', engine.images.local, '--format', '{{.Id}}').trim();
    for (const images of [[id], ['haft/local:1'], ['haft/local'], ['other', 'haft/*']]) {
      const env = await open(t, { image: id, images });
      const { end } = await env.run('cat /etc/local');
      assert.equal(end.status, 'succeeded', end.message);
      assert.equal(end.observed?.imageId, id);
    }
  });

  it('run by their digest when policy names that, their id, a tag of theirs, the repository, or a prefix of it', async (t) => {
    const engine = await docker.engine();
    const { busybox } = engine.images;
    const id = engine.docker('image', 'inspect', busybox, '--format', '{{.Id}}').trim();
    const repository = busybox.replace(/@.*/, '');
    const prefix = `${repository.split('/')[0]}/*`;
    for (const images of [[busybox], [id], [`${repository}:1`], [repository], [prefix]]) {
      assert.equal((await (await open(t, { images })).run('exit 0')).end.status, 'succeeded');
    }
  });

  it('are refused before anything starts where policy does not name them', async (t) => {
    const { busybox } = (await docker.engine()).images;
    const repository = busybox.replace(/@.*/, '');
    const near = [
      [],
      ['*'],
      [`${repository}x`],
      [`${repository}/*`],
      [repository.slice(0, -1)],
      [`${repository}:2`],
    ];
    for (const images of near) {
      const env = await open(t, { images });
      const attempt = await makeAttempt(env, 'exit 0');
      await assert.rejects(env.backend.start(attempt), {
        reason: 'policy.denied',
        details: { image: busybox },
      });
      assert.equal(await env.backend.find(attempt), undefined);
    }
  });

  it('are refused where they are not pinned', async (t) => {
    for (const image of [
      'haft/local:1',
      'haft/local',
      'busybox@sha256:abc',
      `sha256:${'A'.repeat(64)}`,
      '',
    ]) {
      const env = await open(t, { image, images: ['*', image, 'haft/*', 'busybox'] });
      await assert.rejects(env.run('exit 0'), { reason: 'policy.denied' });
    }
  });

  it('that are not there are an end of their own, and nothing is pulled', async (t) => {
    const bare = `sha256:${'0'.repeat(64)}`;
    for (const [image, entry] of [
      [NOWHERE, NOWHERE],
      [NOWHERE, 'haft/nowhere'],
      [bare, bare],
    ] as const) {
      const env = await open(t, { image, images: [entry] });
      const { end } = await env.run('exit 0');
      assert.deepEqual(
        [end.status, end.failure, end.cause],
        ['failed', 'infrastructure', 'infrastructure.image'],
      );
    }
  });
});
