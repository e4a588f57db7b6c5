// Interface descriptions as text. The build runs this module and replaces it by its values, so that a node does not generate the
// descriptions or load the generator.
import {stringify} from 'yaml';
import {adminDescription, curatedDescription, type Description} from './openapi.ts';

const yamlOf = (description: Description): string => stringify(description, {aliasDuplicateObjects: false, lineWidth: 120});

export const curatedText = yamlOf(curatedDescription());
export const adminText = yamlOf(adminDescription());
