import {type ReactElement, useLayoutEffect, useState} from 'react';
import type {KeyName} from './keys.ts';
import {Lines} from './lines.tsx';
import type {Modal} from './modal.ts';
import {type ModalArea, modalBorder, modalLines, questionText} from './modal-lines.ts';
import {afterKey, afterPaste, startOf} from './modal-state.ts';
import {type Paste, pasteIgnored} from './pasted-text.ts';
import type {Shell} from './shell.ts';

export interface ModalKeys {
  onKey(key: KeyName): void;
  onPaste(paste: Paste): void;
}

interface ModalViewProps {
  modal: Modal;
  area: ModalArea;
  /** Registers the handlers of keys. */
  takeKeys(keys: ModalKeys): void;
  say: Shell['say'];
  /** Called before the modal's action, so that the action can open another modal. */
  onClose(): void;
}

/** Mounted for each modal. */
export const ModalView = ({modal, area, takeKeys, say, onClose}: ModalViewProps): ReactElement => {
  const [state, setState] = useState(() => startOf(modal));
  const count = rowsOf(modal, area.width);

  const onPaste = (paste: Paste): void => {
    const pasted = afterPaste(modal, state, paste);
    if (pasted) setState(pasted.state);
    const warning = pasted ? pasted.warning : pasteIgnored(paste);
    if (warning !== undefined) say(warning, 'warn');
  };
  useLayoutEffect(() =>
    takeKeys({
      onPaste,
      onKey: key => {
        const outcome = afterKey(modal, state, key, {height: area.height - modalBorder, count});
        if (outcome.kind === 'stay') {
          setState(outcome.state);
          return;
        }
        if (outcome.kind !== 'pageKey') onClose();
        outcome.run?.();
      },
    }),
  );

  const lines = modalLines(modal, state, area);
  return <Lines lines={lines} width={area.width} height={lines.length} />;
};

const rowsOf = (modal: Modal, width: number): number => {
  if (modal.kind === 'page') return modal.lines(width - 2).length;
  return modal.kind === 'question' ? questionText(modal.lines, width).length : 0;
};
