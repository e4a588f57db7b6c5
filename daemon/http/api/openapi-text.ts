// Interface descriptions as text, and their deprecated parts. The build runs this module and replaces it by its values, so that a node
// does not generate the descriptions or load the generator.
import {stringify} from 'yaml';
import {deprecationsIn} from './deprecations.ts';
import {adminDescription, curatedDescription, type Description} from './openapi.ts';

const yamlOf = (description: Description): string => stringify(description, {aliasDuplicateObjects: false, lineWidth: 120});

const admin = adminDescription();

export const curatedText = yamlOf(curatedDescription());
export const adminText = yamlOf(admin);
export const deprecations = deprecationsIn(admin);
