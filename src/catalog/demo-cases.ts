// The special lists of the demo catalog, with which partners test their programs. The site shows this table.

/**
 * Says for each country what is in its list and what a partner's program should do with the list. The texts are Markdown of one paragraph.
 * test/catalog/demo.test.ts checks that the lists of demo.json are as described.
 */
export const demoCases = {
  KE: {
    list: 'ordinary plans',
    program: 'Shows all plans. Filters work, also one that matches none.',
  },
  MW: {
    list: 'no plan',
    program: 'Says that there are no plans. `data.total` is 0, and that is no error.',
  },
  BW: {
    list: 'only closed plans',
    program: 'Shows each `nonInvestableNote`, and takes no investment.',
  },
  NA: {
    list: 'every possible null',
    program: 'Leaves out what is `null`, without “null” or 0 in its place. A plan without a category stays visible.',
  },
  EG: {
    list: 'values at their limits',
    program:
      'Stores and shows each text whole, also from right to left and with `<b>` in it. Keeps IDs and amounts exact. Shows 0 as “0.0%”, “none” or “any amount”, and nothing for `{}`.',
  },
} as const
