// Headings and links of a Markdown page, as GitHub shows them.

export interface Heading {
  /** 1 for the title of the page. */
  level: number;
  text: string;
  /** The anchor: the text after `#` in a link. */
  anchor: string;
}

interface Link {
  text: string;
  /** The link as written: `docs/cluster.md#drift`, `#try-it`, `https://…`. */
  target: string;
}

export interface Page {
  lines: string[];
  headings: Heading[];
  links: Link[];
}

export const parsePage = (text: string): Page => {
  const prose = text.replace(/^( *)```.*\n[\s\S]*?^\1```$/gm, '');
  const headings = [...prose.matchAll(/^(#{1,6}) +(.+?) *$/gm)].map(([, marks = '', title = '']) => ({
    level: marks.length,
    text: title,
  }));
  const slugs = headings.map(heading => slugOf(heading.text));
  return {
    lines: text.trimEnd().split('\n'),
    headings: headings.map((heading, at) => ({...heading, anchor: numbered(slugs, at)})),
    links: [...prose.replace(/`[^`\n]*`/g, '').matchAll(/\[([^\]]*)\]\(([^)\s]+)\)/g)].map(([, label = '', target = '']) => ({
      text: label,
      target,
    })),
  };
};

const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** Headings with the same name get a number, from the second one on. */
const numbered = (slugs: readonly string[], at: number): string => {
  const slug = slugs[at] ?? '';
  const before = slugs.slice(0, at).filter(other => other === slug).length;
  return before === 0 ? slug : `${slug}-${before}`;
};
