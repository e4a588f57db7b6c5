// Tests that need something that not every machine has. Where it is missing they are skipped, with the reason in their titles.
import test, {type ExecutionContext} from 'ava';

type Run = (t: ExecutionContext) => Promise<void> | void;
type Declare = (title: string, run: Run) => void;

/** `missing` is the reason why tests with `what` cannot run here; undefined where they can. */
type With = (what: string, missing: string | undefined) => Declare;

const declaredBy =
  (declare: Declare, skip: Declare): With =>
  (what, missing) =>
  (title, run) =>
    missing === undefined ? declare(`[${what}] ${title}`, run) : skip(`[${what}] ${title} (skipped: ${missing})`, run);

export const testWith = declaredBy(test, test.skip);
export const serialWith = declaredBy(test.serial, test.serial.skip);
