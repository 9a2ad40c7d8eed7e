// Says which Node is needed, before an older one fails on the first TypeScript file. JavaScript, so that every Node reads it.
if (!process.features.typescript) {
  console.error(`Node ${process.env.npm_package_engines_node ?? '>=22.18'} is needed; this is ${process.version}.`)
  process.exit(2)
}
await import('./fast-imports.mjs')
