// Keys of mfd.yaml that have no effect without another key.
import type {z} from 'zod';

/** Keys that must be set together. */
const pairs = [
  ['api', 'cert_file', 'key_file'],
  ['smtp', 'smarthost_username', 'smarthost_password_file'],
] as const;

/** Keys that need another one of their section. */
const dependents = [
  {section: 'postfix', keys: ['milter_listen', 'helper_socket'], needed: 'config_dir', example: '/etc/postfix'},
  {section: 'store', keys: ['password_file', 'ca_file'], needed: 'url', example: 'postgres://mfd@db.example.com/mfd'},
] as const;

type Sections = Record<string, unknown>;

export const checkDependentKeys = (config: Sections, context: z.RefinementCtx): void => {
  const valuesOf = (section: string) => (config[section] ?? {}) as Record<string, unknown>;
  for (const [section, ...keys] of pairs) {
    const values = valuesOf(section);
    const [given, missing] = [keys.find(key => values[key] !== undefined), keys.find(key => values[key] === undefined)];
    if (given === undefined || missing === undefined) continue;
    const message = `is useless without ${section}.${missing}; give both or neither`;
    context.addIssue({code: 'custom', path: [section, given], message});
  }
  for (const {section, keys, needed, example} of dependents) {
    const values = valuesOf(section);
    if (values[needed] !== undefined) continue;
    for (const key of keys)
      if (values[key] !== undefined)
        context.addIssue({code: 'custom', path: [section, key], message: `needs ${section}.${needed}, such as ${example}`});
  }
};
