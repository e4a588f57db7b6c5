import type {ReactElement} from 'react';
import type {Banner} from '../../list/list.ts';
import {failureBanners} from '../../list/list-lines.ts';
import {fitText} from '../../shell/fit-text.ts';
import {useBindings} from '../../shell/hooks.ts';
import {Lines} from '../../shell/lines.tsx';
import {useShell} from '../../shell/shell.ts';
import type {Loaded} from '../../shell/source.ts';
import {useWatched} from '../../shell/store.ts';
import {backBinding, type DomainBindingNeeds, domainBindings, recordBindings} from './domain-bindings.ts';
import {domainLines, partsOf, type WholeDomain} from './domain-lines.ts';
import {heldSource, wholeDomainSource} from './domain-sources.ts';
import {uncountedBanners} from './domains-list.ts';
import type {DomainsEvent} from './domains-state.ts';
import {recordLines} from './record-lines.ts';

interface DomainViewProps {
  id: number;
  name: string;
  /** Of the DKIM key whose record is shown in place of the domain. */
  selector: string | undefined;
  part: number;
  dispatch(event: DomainsEvent): void;
}

export const DomainView = ({id, name, selector, part, dispatch}: DomainViewProps): ReactElement => {
  const shell = useShell();
  const {app, nowMs, size, isActive} = shell;
  const {theme} = app;
  const source = wholeDomainSource(app, id);
  const loaded = useWatched(source);
  const held = useWatched(heldSource(app)).value;
  const isGone = loaded.failure?.code === 'not_found';
  const banners: Banner[] = isGone
    ? [{text: `✗ ${name} is gone: it was deleted, or this key may not see it any more; escape goes back`, tone: 'bad'}]
    : [...failureBanners(loaded, nowMs), ...uncountedBanners(held?.unreachable ?? [])];
  const whole = loaded.value;
  const parts = whole ? partsOf(whole) : [];
  const cursor = Math.max(0, Math.min(part, parts.length - 1));
  const chosen = parts[cursor];
  const key = whole?.keys.find(one => one.selector === selector);

  const needs: DomainBindingNeeds = {shell, id, name, whole, chosen, refresh: source.refresh, dispatch};
  useBindings({
    bindings:
      selector === undefined ? domainBindings(needs) : [...(key ? recordBindings(shell, key) : []), backBinding(dispatch)],
  });
  const room = {size, theme, isActive};
  const present = whole && {...whole, held: held?.byDomain.get(name) ?? (held && 0)};
  const lines =
    selector === undefined && present
      ? domainLines(present, cursor, banners, room)
      : key
        ? recordLines(key, name, room)
        : [fitText(absentText(name, selector, loaded), size.columns)];
  return <Lines lines={lines} width={size.columns} height={size.rows} />;
};

const absentText = (name: string, selector: string | undefined, {value, failure}: Loaded<WholeDomain>): string => {
  if (failure) return `${name}: ${failure.detail}`;
  if (value === undefined) return `${name}: reading …`;
  return `The DKIM key ${selector ?? ''} of ${name} is not there, or not read yet`;
};
