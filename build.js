// Builds dist/: the daemon as one module beside its installed packages, mfctl as one file that starts fast.
import {chmod, rm} from 'node:fs/promises';

const {build} = await import('esbuild').catch(() => {
  console.error('dist/ is left as it is: esbuild is not installed, as after npm ci --omit=dev');
  process.exit(0);
});

const common = {bundle: true, platform: 'node', target: 'node20.19', sourcemap: 'linked', logLevel: 'warning'};

await rm('dist', {recursive: true, force: true});
await Promise.all([
  build({...common, entryPoints: {mfd: 'daemon/main.ts'}, outdir: 'dist', format: 'esm', packages: 'external'}),
  build({
    ...common,
    entryPoints: {mfctl: 'cli/main.ts'},
    outdir: 'dist',
    format: 'cjs',
    outExtension: {'.js': '.cjs'},
    minifySyntax: true,
  }),
]);

await Promise.all(['bin/mfd', 'bin/mfctl'].map(file => chmod(file, 0o755)));
