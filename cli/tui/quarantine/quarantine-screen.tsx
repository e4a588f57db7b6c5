import type {ReactElement} from 'react';
import {useFrame} from '../frame.ts';
import {useOffer} from '../hooks.ts';
import {Lines} from '../lines.tsx';

export const QuarantineScreen = (): ReactElement => {
  const {size} = useFrame();
  useOffer({bindings: []});
  return <Lines lines={[]} width={size.columns} height={size.rows} />;
};
