// Separate from the schemas, which mfctl does not load.
import type {TestStep} from './domain-test.ts';

/** The steps because of which mail does not work; none when it does. One backend is enough, everything else has to work. */
export const decidingSteps = (steps: readonly TestStep[]): TestStep[] => {
  const failed = steps.filter(({state}) => state === 'failed');
  const failedBackends = new Set(failed.filter(isOfBackend).map(({name}) => name));
  const hasBackend = steps.some(step => isOfBackend(step) && !failedBackends.has(step.name));
  return hasBackend ? failed.filter(step => !isOfBackend(step)) : failed;
};

const isOfBackend = ({part}: TestStep): boolean => part === 'backend';
