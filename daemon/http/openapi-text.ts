// The description as text. The build makes it and puts it in the place of this file: a node neither waits for that nor loads what it takes.
import {openApiDocument} from './openapi.ts';

export const openApiText = openApiDocument();
