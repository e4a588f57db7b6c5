import type {ReactElement} from 'react';
import {useBindings, useNow, useSource} from '../../shell/hooks.ts';
import {Lines} from '../../shell/lines.tsx';
import {useShell} from '../../shell/shell.ts';
import {domainListLines, type ListFacts, listBanners, listHeight} from './domain-list-lines.ts';
import {domainsSource, heldSource} from './domain-sources.ts';
import {type DomainsEvent, type DomainsState, domainRows, placeIn} from './domains-state.ts';
import {listScreenBindings} from './list-bindings.ts';

export interface DomainListProps {
  state: DomainsState;
  dispatch(event: DomainsEvent): void;
}

export const DomainListView = ({state, dispatch}: DomainListProps): ReactElement => {
  const shell = useShell();
  const {app, size, isActive} = shell;
  const source = domainsSource(app);
  const loaded = useSource(source);
  const held = useSource(heldSource(app)).value;
  const facts: ListFacts = {
    loaded,
    unreachable: held?.unreachable ?? [],
    total: loaded.value?.length ?? 0,
    nowMs: useNow(app),
    mayCreate: app.may('domains:create'),
  };
  const rows = domainRows(loaded.value ?? [], held?.byDomain, state);
  const ids = rows.map(({id}) => id);
  const height = listHeight(size, listBanners(facts));
  const row = rows[placeIn(state, ids, height).cursor];

  useBindings(
    listScreenBindings({shell, state, dispatch, row, ids, height, domains: loaded.value ?? [], refresh: source.refresh}),
  );
  const lines = domainListLines(rows, state, facts, {size, theme: app.theme, isActive});
  return <Lines lines={lines} width={size.columns} height={size.rows} />;
};
