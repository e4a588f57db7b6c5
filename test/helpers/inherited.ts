/** Does the work while every object inherits a property: what a mail did that reached the prototype of all objects. */
export const whileInherited = async <T>(name: string, value: unknown, work: () => Promise<T> | T): Promise<T> => {
  Object.defineProperty(Object.prototype, name, {value, enumerable: true, configurable: true, writable: true});
  try {
    return await work();
  } finally {
    Reflect.deleteProperty(Object.prototype, name);
  }
};
