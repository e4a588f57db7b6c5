import {execFileSync} from 'node:child_process';
import test from 'ava';
import {childEnvironment} from '../../shared/child-environment.ts';

test('a child process gets the variables that it is given, and none that a prototype has', t => {
  const variables: NodeJS.ProcessEnv = Object.create({NODE_OPTIONS: '--require=/tmp/other.js'});
  variables.OWN = 'own';
  const variablesOf = (env: NodeJS.ProcessEnv) => execFileSync('env', {env, encoding: 'utf8'}).trim().split('\n').toSorted();

  t.deepEqual(variablesOf(childEnvironment(variables)), ['OWN=own']);
  // What Node does on its own.
  t.deepEqual(variablesOf(variables), ['NODE_OPTIONS=--require=/tmp/other.js', 'OWN=own']);
});

test('what all objects inherit is no variable of a child process', t => {
  const variables = childEnvironment({});

  t.false('toString' in variables);
});
