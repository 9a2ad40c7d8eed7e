-- The plan catalog. Country codes are ISO 3166-1 alpha-2.

-- A document is the JSON object that partners get: the Worker joins these texts and never parses them.
CREATE TABLE plans (
  id         INTEGER PRIMARY KEY,
  document   TEXT NOT NULL CHECK (
               json_valid(document) AND document ->> '$.id' IS id AND json_type(document, '$.identifier') IS 'text'
             ),
  identifier TEXT NOT NULL UNIQUE GENERATED ALWAYS AS (document ->> '$.identifier') VIRTUAL
) STRICT;

-- A plan is in the list of a country if and only if it has a row here. Lists are read in the order of the key.
CREATE TABLE plan_viewability (
  country TEXT    NOT NULL CHECK (country GLOB '[A-Z][A-Z]'),
  plan_id INTEGER NOT NULL REFERENCES plans (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  PRIMARY KEY (country, plan_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX plan_viewability_by_plan ON plan_viewability (plan_id);

-- One row.
CREATE TABLE catalog_revision (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  -- Every change of the catalog raises it, which outdates cached lists. It is at least the time in Unix milliseconds, so that
  -- a restored database never uses one twice.
  revision INTEGER NOT NULL,
  -- A random ID, which tells an exported file of this catalog from a file of another one. It starts with restoring while a
  -- restore runs.
  catalog  TEXT    NOT NULL
) STRICT;

INSERT INTO catalog_revision (id, revision, catalog) VALUES (1, 0, lower(hex(randomblob(8))));
