// A partner's own plans as its customers might see them. src/site/browser/plan-cards.ts fills it.
import { html } from 'hono/html'
import type { Markup } from '../page-shell.ts'
import { clientFields, needsProgram, secretNote, shortNameField } from './sign-in-form.ts'

export function renderPlans(): Markup {
  return html`<article class="gallery">
    <header>
      <h1>Your plans</h1>
      <p>What the API gives you, as your customers might see it. ${secretNote}</p>
      ${needsProgram}
    </header>
    <form id="sign-in" class="form" method="post" autocomplete="off">
      ${clientFields} ${shortNameField}
      <button class="primary">Show my plans</button>
    </form>
    <form id="filters" class="form" method="post" autocomplete="off" hidden>
      <label
        >Category
        <select name="categoryId"></select
      ></label>
      <label
        >Fund type
        <select name="fundType"></select
      ></label>
      <label
        >Currency
        <select name="currency"></select
      ></label>
      <label class="check whole"><input name="hasArtwork" type="checkbox" /> <span id="artwork-label"></span></label>
    </form>
    <div id="failure" role="alert"></div>
    <div class="bar">
      <p id="count" role="status" tabindex="-1"></p>
      <button class="quiet" type="button" id="sign-out" hidden>Sign out</button>
    </div>
    <div id="cards"></div>
  </article>`
}
