// Owns: `devices`: which devices of this machine calls may use.
// Not here: using one.
import type { Finding, Section } from '../../src/policy/section.ts';
import { list, map, text } from '../../src/policy/shapes.ts';
import { lists, ONLY_LESS, shown } from '../../src/policy/values.ts';

declare module '../../src/contract/policy.ts' {
  interface PolicyFile {
    readonly devices?: { readonly allow?: readonly string[] };
  }
}
declare module '../../src/contract/effect.ts' {
  interface EffectShapes {
    'device.use': { readonly device: string };
  }
}

export const devices = {
  key: 'devices',
  written: () => ({
    shape: map('Devices that calls may use. Without it: none.', {
      allow: list(text('name', 'A device: `gpu0`.'), 'Devices that may be used.'),
    }),
    widening: (host, session) =>
      (session.allow ?? []).flatMap((one, at) => (host?.allow?.includes(one) ? [] : [`.allow[${at}]`])),
    changes: (before, after) => lists('devices.allow', before?.allow ?? [], after?.allow ?? [], ONLY_LESS),
    grants: ({ allow = [] }) => allow.map((device) => `the device ${shown(device)}`),
  }),
  effects: {
    'device.use': {
      decide: ({ device }, { layers }) =>
        layers.flatMap((layer): Finding[] => {
          const { devices: own } = layer.file;
          if (!own && !layer.complete) return [];
          const { where, ...cited } = layer.cite('devices.allow');
          if (own?.allow?.includes(device))
            return [{ verdict: 'allow', ...cited, fact: `${where} names it` }];
          const grant = layer.grant({ devices: { allow: [device] } });
          return [{ verdict: 'deny', ...cited, fact: `${where} does not name it`, grant }];
        }),
    },
  },
} satisfies Section<'devices'>;
