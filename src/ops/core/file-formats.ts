/** The formats of files that hold a catalog, or a part of it. */
export const fileFormats = ['json', 'csv', 'xlsx'] as const
export type FileFormat = (typeof fileFormats)[number]
