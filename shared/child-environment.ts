/** The environment of a child process: Node would also pass on what the variables inherit from a prototype. */
export const childEnvironment = (variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.assign(Object.create(null) as NodeJS.ProcessEnv, variables);
