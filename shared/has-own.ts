// Own properties. Inherited properties must decide nothing: every object has a `constructor`, and a mail that managed to change the
// prototype of all objects could give them more.

type KeysOf<T> = T extends unknown ? keyof T : never;

/** Narrows a union like the operator `in`, which also finds inherited properties. */
export const hasOwn = <T extends object, K extends PropertyKey>(
  value: T,
  name: K,
): value is K extends KeysOf<T> ? Extract<T, {[N in K]: unknown}> : T & {[N in K]: unknown} => Object.hasOwn(value, name);

/** Looks up a name from outside. */
export const ownValue = <V>(values: Readonly<Record<PropertyKey, V>>, name: PropertyKey): V | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined;
