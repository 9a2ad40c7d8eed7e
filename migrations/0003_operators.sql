-- For the operators' command line.

-- The version rises with every change of the catalog. A change is based on one version, and fails if there is a newer one.
CREATE TABLE catalog_version (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL
) STRICT;

INSERT INTO catalog_version (id, version) VALUES (1, 0);

-- An import stages its rows here in parts, and moves them to their tables in one transaction. `json` is an array.
CREATE TABLE catalog_staging (
  import_id TEXT NOT NULL,
  target    TEXT NOT NULL,
  part      INTEGER NOT NULL,
  json      TEXT NOT NULL,
  PRIMARY KEY (import_id, target, part)
) STRICT, WITHOUT ROWID;
