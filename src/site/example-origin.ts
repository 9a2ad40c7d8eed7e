/** The site's address in examples. The build replaces it in files for programs, and browser/every-page.ts on every page. */
export const exampleOrigin = 'https://catalog.example.com'
