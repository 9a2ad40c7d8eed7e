// Tells whether people can see a text: it has visible characters, and no hidden ones.

/** Excludes spaces, control characters, and characters without a glyph, such as a zero-width space. */
const visibleCharacter = /[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u

export function hasVisibleCharacter(text: string): boolean {
  return visibleCharacter.test(text)
}

/** Control, bidirectional and invisible characters. */
const hiddenCharacter = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]/u

/** A joiner or variation selector that a text needs: behind an emoji, or behind a letter as in Persian and Sinhala. */
const neededJoiner =
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]|[^\p{sc=Common}\p{sc=Inherited}\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])[\p{Join_Control}\p{Variation_Selector}]{1,2}/gu

export function hasHiddenCharacter(text: string): boolean {
  return hiddenCharacter.test(text.replaceAll(neededJoiner, ''))
}
