import type {Command} from 'commander';
import type {Session} from '../session.ts';

export const addOpenapiCommand = (program: Command, session: Session): void => {
  program
    .command('openapi')
    .description('print the description of the API, OpenAPI 3.1 in YAML; with -o json in JSON')
    .option('--admin', 'every operation, not only those that are stable for other clients')
    .addHelpText('after', '\nExamples:\n  mfctl openapi\n  mfctl openapi --admin > openapi-admin.yaml')
    .action(async ({admin}: {admin?: boolean}) => {
      const client = await session.client();
      const {body} = await client.openapi(admin ?? false);
      const printer = session.printer();
      const text = body.toString('utf8');
      if (printer.format === 'json') printer.value((await import('yaml')).parse(text));
      else printer.text(text);
    });
};
