// Declares the parts of openapi.json that the site reads.
import type { FieldSchema } from './plan-json-schema.ts'

interface Reference {
  $ref: string
}

export interface Schema extends FieldSchema {
  const?: unknown
  items?: Schema
  properties?: Record<string, Schema>
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description: string
  schema: Schema
  example?: unknown
}

export interface Response {
  description: string
  headers?: Record<string, Reference>
  content?: {
    'application/json': {
      schema: Reference
      example?: unknown
      examples?: Record<string, { value: unknown }>
    }
  }
}

export interface Operation {
  operationId: string
  summary: string
  description: string
  security?: Record<string, string[]>[]
  parameters?: Parameter[]
  requestBody?: { description: string; content: Record<string, unknown> }
  responses: Record<string, Response>
}

export interface OpenapiDocument {
  info: { description: string }
  paths: Record<string, Record<string, Operation>>
  components: {
    securitySchemes: Record<string, { description: string }>
    headers: Record<string, { description: string; schema: Schema; example?: unknown }>
    schemas: Record<string, Schema>
  }
}
