/** The site's address in examples. The build replaces it if it knows the origin, and browser/every-page.ts on every page. */
export const exampleOrigin = 'https://catalog.example.com'
