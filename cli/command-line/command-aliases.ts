import type {Command} from 'commander';

/** Pairs of names that mean the same. */
const twins = [
  ['get', 'show'],
  ['delete', 'remove'],
] as const;

/** Gives each command that has one name of a pair the other one as an alias, so that nobody has to remember which noun uses which. */
export const addAliases = (command: Command): void => {
  for (const sub of command.commands) {
    const [one, other] = twins.find(names => names.some(name => name === sub.name())) ?? [];
    if (one !== undefined && other !== undefined) sub.alias(sub.name() === one ? other : one);
    addAliases(sub);
  }
};
