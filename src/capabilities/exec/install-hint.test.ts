import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { installHint } from './install-hint.ts';

describe('installHint', () => {
  it('names the one line of this distribution, or all where it is not known', () => {
    const hint = (release: string) => installHint('bubblewrap', release);
    assert.equal(hint('NAME="Debian GNU/Linux"\nID=debian\n'), 'Install it: apt-get install bubblewrap');
    assert.equal(hint('ID=linuxmint\nID_LIKE="ubuntu debian"\n'), 'Install it: apt-get install bubblewrap');
    assert.equal(hint('ID="rocky"\nID_LIKE="rhel centos fedora"\n'), 'Install it: dnf install bubblewrap');
    assert.equal(hint('ID=alpine\n'), 'Install it: apk add bubblewrap');
    assert.equal(
      hint('ID="opensuse-leap"\nID_LIKE="suse opensuse"\n'),
      'Install it: zypper install bubblewrap',
    );
    for (const unknown of ['', 'ID=plan9\n'])
      assert.match(hint(unknown), /apt-get .*dnf .*apk .*pacman .*zypper /);
  });
});
