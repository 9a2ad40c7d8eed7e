// What partners can rely on. The numbers and the addresses come from src/api/promises.ts.
import { html } from 'hono/html'
import {
  availabilityDays,
  availabilityTargetPercent,
  breakingChangeNoticeDays,
  copyRenewalHours,
  freshnessSeconds,
  inProductionSince,
  securityEmail,
  staleIfErrorHours,
  support,
} from '../../api/promises.ts'
import type { Markup } from '../page-shell.ts'

const failedMinutes = Math.round((1 - availabilityTargetPercent / 100) * availabilityDays * 24 * 60)

export function renderPromises(): Markup {
  return html`<article class="prose">
    <h1>What you can rely on</h1>
    <p>
      For developers and their managers: what the service is built to keep, how we measure it, and whom to tell when
      something is wrong. These are targets, not guarantees. If your contract with us says something else, the contract
      applies.
    </p>
    <p>${describeEvidence(inProductionSince)}</p>

    <h2 id="availability">Availability</h2>
    <p>
      The target: over ${availabilityDays} days, at least ${availabilityTargetPercent}% of the token requests and
      ${availabilityTargetPercent}% of the plan requests succeed. If requests come evenly, that leaves ${failedMinutes}
      minutes of failures in ${availabilityDays} days.
    </p>
    <p>
      A request fails if its response has the status 500 or 503. Every other response counts as a success, also a
      refusal such as 401 or 429. Our command <code>watch</code> computes both shares from what the service records of
      each request, and reports when failures come so fast that we would miss the target. We don’t record a request that
      fails before it reaches the service. To notice such failures, we also send requests from outside.
    </p>

    <h2 id="freshness">Freshness</h2>
    <p>
      While our database is available, a change applies everywhere within ${freshnessSeconds / 60} minutes: a change of
      a plan (it becomes viewable, closes or gets new performance figures) and of your account (it is suspended, moves
      to another country, or its tokens are ended). If the nearest copy of the database lags, add a few seconds. A new
      client secret works at once. <a href="/caching#how-fresh-a-list-is">A response header</a> says how old a list is.
    </p>

    <h2 id="outage">If our database fails</h2>
    <p>
      You can list plans and get tokens for at least ${staleIfErrorHours - copyRenewalHours} hours after your last
      request. We answer
      <a href="/caching#during-an-outage">from copies</a> of the list of your country, and of your account. During this
      time:
    </p>
    <ul>
      <li>Changes are not visible: lists, and a suspension of your account, are those of the copies.</li>
      <li>A token request with a secret that is newer than the copy returns 503.</li>
      <li>
        A list with filters can return 503: if nobody in your country requested it in this time, or if no plan matches.
      </li>
    </ul>
    <p>
      After that, lists and tokens return <a href="/errors#unavailable">503</a> until the database is available again.
      Other parts can fail, too: the network, for example. So <a href="/sync">keep a copy</a> on your server.
    </p>

    <h2 id="changes">Breaking changes</h2>
    <p>
      <a href="/changes">Changes</a> says what stays the same within version 3, and what can be added without notice. A
      breaking change needs a new version, at a new path. We announce it at least ${breakingChangeNoticeDays} days
      before version 3 ends, in the <a href="/changes#history">history</a> and its <a href="/changes.xml">feed</a>.
    </p>

    <h2 id="incorrect-data">Incorrect data</h2>
    <p>Tell <a href="mailto:${support.email}">${support.email}</a>, and send:</p>
    <ul>
      <li>The <code>identifier</code> of the plan, and the name of the field.</li>
      <li>
        The value that you received, the value that you expect, and where it stands, such as a page of the fact sheet.
      </li>
      <li>The <code>X-Request-Id</code> and the <code>Date</code> of the response.</li>
    </ul>
    <p>
      Do the same for a link that is dead, or for a plan that you miss: it may not be viewable in your country yet.
      Never send a secret or a token. We promise no time for an answer or a correction; a correction that we publish is
      visible as fast as <a href="#freshness">any change</a>.
    </p>

    <h2 id="security">Security</h2>
    <p>
      If you find a vulnerability, write to <a href="mailto:${securityEmail}">${securityEmail}</a>. Say what you sent,
      what you received, and the <code>X-Request-Id</code> of the response.
      <a href="/.well-known/security.txt">security.txt</a> has the same address. If your client secret or a token
      leaked, <a href="/tokens#if-a-secret-or-token-leaks">tell support</a> at once.
    </p>
  </article>`
}

/** @param since the day of `inProductionSince`. */
export function describeEvidence(since: string | null): string {
  return since === null
    ? 'The service has not run in production, on Cloudflare’s network, yet, so nothing below was measured there. Freshness and outages were simulated: the service’s own code answered weeks of traffic while plans, accounts and storage changed and failed. Availability was not measured.'
    : `The service has run in production, on Cloudflare’s network, since ${since}. Availability is measured there. Freshness and outages of the database were also simulated, with the service’s own code.`
}
