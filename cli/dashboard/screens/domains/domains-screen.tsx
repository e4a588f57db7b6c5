import type {ReactElement} from 'react';
import {useKeptReducer} from '../../shell/hooks.ts';
import {Permitted} from '../../shell/permitted.tsx';
import {useShell} from '../../shell/shell.ts';
import {DomainListView} from './domain-list-view.tsx';
import {DomainView} from './domain-view.tsx';
import {domainsReducer, domainsStart} from './domains-state.ts';

export const DomainsScreen = (): ReactElement => <Permitted permission="domains:read" what="domains" screen={Domains} />;

const Domains = (): ReactElement => {
  const {app} = useShell();
  const [state, dispatch] = useKeptReducer(app, 'domains', domainsReducer, domainsStart);
  const {view} = state;
  if (view.kind === 'list') return <DomainListView state={state} dispatch={dispatch} />;
  const selector = view.kind === 'record' ? view.selector : undefined;
  return <DomainView key={view.id} id={view.id} name={view.name} selector={selector} part={state.part} dispatch={dispatch} />;
};
