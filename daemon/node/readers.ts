// Processes that read what strangers wrote; see bin/build.mjs for their file, beside this one.
import {createReaders} from '../mail/readers/readers.ts';

declare const READER: string;

export const openReaders = () => createReaders({file: new URL(`./${READER}`, import.meta.url)});
