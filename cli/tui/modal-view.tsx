import {type ReactElement, useLayoutEffect, useState} from 'react';
import type {KeyName} from './keys.ts';
import {Lines} from './lines.tsx';
import type {Modal} from './modal.ts';
import {modalBorder, modalLines, type ModalRoom} from './modal-lines.ts';
import {afterKey, startOf} from './modal-state.ts';

export interface ModalViewProps {
  modal: Modal;
  room: ModalRoom;
  /** Hands over what takes the keys from now on. */
  takeKeys(handler: (key: KeyName) => void): void;
  /** Called before what the modal leads to, so that this can open another one. */
  onClose(): void;
}

/** Mounted anew for each modal. */
export const ModalView = ({modal, room, takeKeys, onClose}: ModalViewProps): ReactElement => {
  const [state, setState] = useState(() => startOf(modal));
  const count = modal.kind === 'page' ? modal.lines(room.width - 2).length : 0;

  useLayoutEffect(() =>
    takeKeys(key => {
      const outcome = afterKey(modal, state, key, {height: room.height - modalBorder, count});
      switch (outcome.kind) {
        case 'stay':
          return setState(outcome.state);
        case 'closed':
          onClose();
          return cancelled(modal);
        case 'key':
          onClose();
          return modal.kind === 'choice' ? modal.keys?.find(extra => extra.key === key)?.run(outcome.index) : undefined;
        case 'done':
          onClose();
          return done(modal, outcome.state);
        default:
          return outcome satisfies never;
      }
    }),
  );

  const lines = modalLines(modal, state, room);
  return <Lines lines={lines} width={room.width} height={lines.length} />;
};

const cancelled = (modal: Modal): void => {
  if (modal.kind === 'question') modal.onNo?.();
  if (modal.kind === 'prompt') modal.onCancel?.();
  if (modal.kind === 'page') modal.onClose?.();
};

const done = (modal: Modal, state: ReturnType<typeof startOf>): void => {
  switch (modal.kind) {
    case 'question':
      return modal.onYes();
    case 'prompt':
      return modal.onSubmit(state.line.text);
    case 'choice':
      return modal.onChoose(state.position.cursor);
    case 'page':
      return modal.onClose?.();
    case 'form':
      return modal.onSubmit(state.values);
    default:
      return modal satisfies never;
  }
};
