import {type Command, Help} from 'commander';

/** Groups of commands in the help of the program; a test finds a command without one. */
export const commandGroups: Record<string, string[]> = {
  'Mail:': ['quarantine'],
  'Configuration:': ['domain', 'key'],
  'The cluster:': ['cluster', 'dashboard', 'audit', 'events', 'metrics'],
  'The API as it is:': ['api', 'openapi'],
  'mfctl itself:': ['login', 'whoami', 'context', 'completion', 'help'],
};

export const groupCommands = (program: Command): void => {
  for (const [heading, names] of Object.entries(commandGroups))
    for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(heading);

  const order = Object.values(commandGroups).flat();
  const placeOf = (command: Command): number => order.indexOf(command.name());
  program.configureHelp({
    visibleCommands: parent => new Help().visibleCommands(parent).toSorted((a, b) => placeOf(a) - placeOf(b)),
    // Commander orders groups by their declaration.
    groupItems: (_, visible, groupOf) => new Help().groupItems(visible, visible, groupOf),
  });
};
