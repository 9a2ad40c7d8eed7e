/** Stands for the site's address in examples. The build replaces it if it knows the origin; otherwise, browser/every-page.ts does. */
export const exampleOrigin = 'https://catalog.example.com'
