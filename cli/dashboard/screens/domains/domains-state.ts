// View of the domains screen: the list, one domain, or one DNS record. Plain data.

export type DomainsView =
  | {kind: 'list'}
  | {kind: 'domain'; id: number; name: string}
  | {kind: 'record'; id: number; name: string; selector: string};

export type DomainsEvent =
  | {kind: 'opened'; id: number; name: string}
  | {kind: 'record-opened'; selector: string}
  | {kind: 'back'}
  /** The domain was deleted. */
  | {kind: 'gone'; id: number};

export const initialView: DomainsView = {kind: 'list'};

export const domainsReducer = (view: DomainsView, event: DomainsEvent): DomainsView => {
  switch (event.kind) {
    case 'opened':
      return {kind: 'domain', id: event.id, name: event.name};
    case 'record-opened':
      return view.kind === 'list' ? view : {...view, kind: 'record', selector: event.selector};
    case 'back':
      return view.kind === 'record' ? {kind: 'domain', id: view.id, name: view.name} : initialView;
    case 'gone':
      return view.kind !== 'list' && view.id === event.id ? initialView : view;
    default:
      return event satisfies never;
  }
};
