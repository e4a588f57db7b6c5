// The descriptions as text, and what they call deprecated. The build runs this module and puts its values in its place: a node
// neither waits for that nor loads what it takes.
import {stringify} from 'yaml';
import {deprecationsIn} from './deprecations.ts';
import {adminDescription, curatedDescription, type Description} from './openapi.ts';

const yamlOf = (description: Description): string => stringify(description, {aliasDuplicateObjects: false, lineWidth: 120});

const admin = adminDescription();

export const curatedText = yamlOf(curatedDescription());
export const adminText = yamlOf(admin);
export const deprecations = deprecationsIn(admin);
