// Finds elements of a page and reads its forms.

/** @throws Error if the page has no such element, which is a bug of the site. */
export function find<Type extends Element>(selector: string, type: new () => Type): Type {
  const element = document.querySelector(selector)
  if (!(element instanceof type)) throw new Error(`The page has no ${type.name} that matches ${selector}.`)
  return element
}

/** Returns the values of a form by field name. */
export function readForm(form: HTMLFormElement): Record<string, string> {
  const entries = [...new FormData(form)].map(([name, value]) => [name, typeof value === 'string' ? value : ''])
  return Object.fromEntries(entries)
}

/**
 * Calls `act` with the trimmed values when the form is submitted, instead of sending the form. Ignores a submission
 * while `act` is still working on the previous one.
 */
export function onSubmit(form: HTMLFormElement, act: (values: Record<string, string>) => Promise<void>): void {
  let isBusy = false
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (isBusy) return
    isBusy = true
    form.setAttribute('aria-busy', 'true')
    const trimmed = Object.entries(readForm(form)).map(([name, value]) => [name, value.trim()])
    void act(Object.fromEntries(trimmed)).finally(() => {
      isBusy = false
      form.removeAttribute('aria-busy')
    })
  })
}
