// The list of domains below which anybody can register one (https://publicsuffix.org). It is loaded when it is first needed: most nodes
// never need it.

export interface PublicSuffixes {
  /** Whether the list has the name, as `co.uk` or `github.io`. */
  has(name: string): boolean;
  /**
   * The domain that somebody registered, at or above `name`; `name` itself when it is a suffix. Suffixes of companies do not count here:
   * anybody with a domain below one has as many as they like.
   */
  organizationOf(name: string): string;
}

/** Names are in lower case, with A-labels. */
export const loadPublicSuffixes = async (): Promise<PublicSuffixes> => {
  const {parse} = await import('tldts');
  const asHost = {extractHostname: false, validateHostname: false};
  return {
    has(name) {
      const {publicSuffix, isIcann, isPrivate} = parse(name, {...asHost, allowPrivateDomains: true});
      // Of a name that is not in the list the last label counts as its suffix.
      return publicSuffix === name && (isIcann === true || isPrivate === true);
    },
    organizationOf: name => parse(name, asHost).domain ?? name,
  };
};
