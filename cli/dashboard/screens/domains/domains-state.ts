// Which domain is looked at. Plain data.
import {moved, within} from '../../list/list-window.ts';
import type {KeyName} from '../../shell/keys.ts';

type DomainsView =
  | {kind: 'list'}
  | {kind: 'domain'; id: number; name: string}
  | {kind: 'record'; id: number; name: string; selector: string};

interface DomainsState {
  view: DomainsView;
  /** Of the filters and DKIM keys of the domain, the one under the cursor. */
  part: number;
}

export type DomainsEvent =
  | {kind: 'opened'; id: number; name: string}
  | {kind: 'part-moved'; key: KeyName; height: number; count: number}
  | {kind: 'record-opened'; selector: string}
  | {kind: 'back'}
  /** Deleted. */
  | {kind: 'gone'; id: number};

export const domainsStart: DomainsState = {view: {kind: 'list'}, part: 0};

export const domainsReducer = (state: DomainsState, event: DomainsEvent): DomainsState => {
  const {view} = state;
  switch (event.kind) {
    case 'opened':
      return {view: {kind: 'domain', id: event.id, name: event.name}, part: 0};
    case 'part-moved': {
      const extent = {count: event.count, height: event.height};
      const position = moved(within({cursor: state.part, top: 0}, extent), event.key, extent);
      return position ? {...state, part: position.cursor} : state;
    }
    case 'record-opened':
      return view.kind === 'list' ? state : {...state, view: {...view, kind: 'record', selector: event.selector}};
    case 'back':
      return {...state, view: view.kind === 'record' ? {kind: 'domain', id: view.id, name: view.name} : {kind: 'list'}};
    case 'gone':
      return view.kind !== 'list' && view.id === event.id ? {...state, view: {kind: 'list'}} : state;
    default:
      return event satisfies never;
  }
};
