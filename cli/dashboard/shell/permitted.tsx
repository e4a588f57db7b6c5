import type {ComponentType, ReactElement} from 'react';
import type {Permission} from '../../../shared/scopes.ts';
import {fitText, wrapText} from './fit-text.ts';
import {useBindings} from './hooks.ts';
import {Lines} from './lines.tsx';
import {useShell, whyNot} from './shell.ts';

interface PermittedProps {
  permission: Permission;
  /** The name of what the permission protects: `the audit`. */
  what: string;
  screen: ComponentType;
}

/** The screen, or the reason why the key may not see it, without a request that the node would refuse. */
export const Permitted = ({permission, what, screen: Screen}: PermittedProps): ReactElement => {
  const {app} = useShell();
  const reason = whyNot(app, permission);
  return reason === undefined ? <Screen /> : <Refused text={`${what} cannot be shown: ${reason}`} />;
};

const Refused = ({text}: {text: string}): ReactElement => {
  const {size} = useShell();
  useBindings({bindings: []});
  const {columns, rows} = size;
  return <Lines lines={wrapText(text, columns).map(line => fitText(line, columns))} width={columns} height={rows} />;
};
