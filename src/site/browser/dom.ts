// The elements of a page, and its values.

/** @throws Error when the page has no such element: a fault of the site. */
export function find<Type extends Element>(selector: string, type: new () => Type): Type {
  const element = document.querySelector(selector)
  if (!(element instanceof type)) throw new Error(`The page lacks ${selector}.`)
  return element
}

/** What a form holds, by name. */
export function readForm(form: HTMLFormElement): Record<string, string> {
  const entries = [...new FormData(form)].map(([name, value]) => [name, typeof value === 'string' ? value : ''])
  return Object.fromEntries(entries)
}

/**
 * Calls it with what was typed when the form is submitted, one at a time, without the spaces that copying brings.
 * Nothing is ever sent by the browser itself.
 */
export function onSubmit(form: HTMLFormElement, act: (values: Record<string, string>) => Promise<void>): void {
  let isBusy = false
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (isBusy) return
    isBusy = true
    form.setAttribute('aria-busy', 'true')
    const typed = Object.entries(readForm(form)).map(([name, value]) => [name, value.trim()])
    void act(Object.fromEntries(typed)).finally(() => {
      isBusy = false
      form.removeAttribute('aria-busy')
    })
  })
}
