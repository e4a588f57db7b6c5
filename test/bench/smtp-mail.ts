// The mail that the load clients send, from ada@example.net.
const line = 'The quick brown fox jumps over the lazy dog, and goes home by the same road.\r\n';

/** A mail of about `sizeBytes`, without a line that begins with a dot. */
export const mailTo = (to: string, sizeBytes: number): Buffer => {
  const head = [
    'From: Ada <ada@example.net>',
    `To: ${to}`,
    'Subject: What you asked for last week, and then some',
    'Date: Tue, 04 Nov 2025 09:12:44 +0100',
    'Message-ID: <bench.20251104091244@example.net>',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=us-ascii',
    '\r\n',
  ].join('\r\n');
  return Buffer.from(head + line.repeat(Math.max(1, Math.round((sizeBytes - head.length) / line.length))));
};
