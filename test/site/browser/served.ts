/** What serve.ts tells once it serves. */
export interface Served {
  origin: string
  partners: {
    /** Of Kenya, with its plans of the demo catalog. */
    demo: Credentials
    /** Of a country without plans. */
    lonely: Credentials
    /** Of a country with one plan, whose texts are markup. */
    hostile: Credentials
  }
  markup: string
  markupUrl: string
}

export interface Credentials {
  clientId: string
  clientSecret: string
  shortName: string
}
