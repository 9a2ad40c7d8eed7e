// A partner's own plans as its customers might see them. src/site/browser/plans.ts fills it.
import { html } from 'hono/html'
import type { Markup } from '../page.ts'
import { needsProgram, secretNote } from './sign-in.ts'

export function renderPlans(): Markup {
  return html`<article class="gallery">
    <header>
      <h1>Your plans</h1>
      <p>What the API gives you, as your customers might see it. ${secretNote}</p>
      ${needsProgram}
    </header>
    <form id="sign-in" class="form" autocomplete="off">
      <label>Client ID <input name="clientId" required autocapitalize="off" spellcheck="false" /></label>
      <label>Client secret <input name="clientSecret" type="password" required autocomplete="off" /></label>
      <label>Short name <input name="shortName" required autocapitalize="off" spellcheck="false" /></label>
      <button class="primary">Show my plans</button>
    </form>
    <form id="filters" class="form" autocomplete="off" hidden>
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
      <label class="check"><input name="hasArtwork" type="checkbox" /> <span id="artwork-label"></span></label>
      <button class="quiet" type="button" id="sign-out">Sign out</button>
    </form>
    <div id="failure" role="alert"></div>
    <p id="count" role="status"></p>
    <div id="cards"></div>
  </article>`
}
