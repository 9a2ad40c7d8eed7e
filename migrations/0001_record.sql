-- The tables are a record: each change adds rows, and the newest rows say how the catalog and the partners are now. Each change
-- takes effect by one statement on one table, which is atomic over a binding and over HTTP. A publication takes effect when its
-- state becomes published, and a change of a partner when its row is inserted. Afterwards, only the columns superseded and
-- secrets change. There are no foreign keys, because an import of a dump inserts the tables in any order. Times are Unix seconds
-- of the clock of D1. Each CHECK of JSON calls json_valid, because other functions of SQLite accept JSON5, which is not JSON.

-- One row. The name is a random ID, which exported files contain, so that an import recognizes a file of another catalog.
CREATE TABLE catalog (
  id   INTEGER PRIMARY KEY CHECK (id = 1),
  name TEXT    NOT NULL
) STRICT;
INSERT INTO catalog (id, name) VALUES (1, lower(hex(randomblob(8))));

-- Publications: who proposed a change of plans, and who decided about it. A publication is first staged with its plans, which has
-- no effect. Then it is compared with the catalog (src/catalog/fit.ts). One UPDATE publishes it, if none of its plans is missing
-- and nothing was published since the comparison. The catalog consists of the newest published version of each plan.
-- AUTOINCREMENT keeps SQLite from using the ID of a deleted publication again.
CREATE TABLE publications (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  -- staging: a command is writing the plans. After an hour, the schedule deletes the publication. waiting: for approval.
  -- scheduled: for due_at. conflicted: the publication did not fit the catalog any more. It may still be cancelled.
  state          TEXT    NOT NULL CHECK (state IN
                   ('staging', 'waiting', 'scheduled', 'published', 'conflicted', 'cancelled')),
  actor          TEXT    NOT NULL,
  command        TEXT    NOT NULL,
  note           TEXT,
  created_at     INTEGER NOT NULL,
  -- The revision of the catalog from which its plans were computed. Only its versions with the same base_revision count. A merge
  -- with later changes writes versions with a newer base_revision. Publishing the merge writes the newer base_revision here.
  base_revision  INTEGER NOT NULL,
  plan_count     INTEGER NOT NULL, -- A publication of 0 plans only raises the revision, so that cached lists are outdated.
  undone_id      INTEGER, -- The publication that this one takes back.
  redone_id      INTEGER, -- The publication that this one makes again.
  -- A JSON array of sentences, for the approver: the doubts that the author confirmed.
  warnings       TEXT    NOT NULL CHECK (json_valid(warnings) AND json_type(warnings) = 'array'),
  due_at         INTEGER,
  needs_approval INTEGER NOT NULL CHECK (needs_approval IN (0, 1)),
  approved_by    TEXT,    approved_at INTEGER, approved_note TEXT,
  -- Who published, cancelled or ended it as conflicted. The schedule is an actor, too.
  decided_by     TEXT,    decided_at  INTEGER, decided_note  TEXT,
  conflict       TEXT, -- The reason why it conflicted. The reason stays when the publication is cancelled afterwards.
  -- The revision of the catalog that publishing made: the newest revision plus 1, and at least the time in Unix milliseconds, so
  -- that a restored database uses no revision twice.
  revision       INTEGER UNIQUE,
  CHECK ((state = 'published') = (revision IS NOT NULL)),
  CHECK ((state IN ('staging', 'waiting', 'scheduled')) = (decided_by IS NULL)),
  CHECK (state <> 'scheduled' OR due_at IS NOT NULL),
  CHECK (state <> 'conflicted' OR conflict IS NOT NULL),
  CHECK (needs_approval = 0 OR state NOT IN ('scheduled', 'published') OR approved_by IS NOT NULL),
  CHECK (lower(approved_by) <> lower(actor)) -- Nobody approves a publication of their own.
) STRICT;
CREATE INDEX publications_by_state ON publications (state, due_at);

-- The plans of each publication, as computed from the catalog at base_revision. document is the JSON object that partners get:
-- the Worker sends its text without parsing it. viewable_in is a JSON array of the countries whose lists have the plan. Both
-- columns are NULL when the publication removes the plan.
CREATE TABLE plan_versions (
  publication_id INTEGER NOT NULL,
  base_revision  INTEGER NOT NULL,
  plan_id        INTEGER NOT NULL,
  document       TEXT CHECK (document IS NULL OR (
    json_valid(document) AND document ->> '$.id' IS plan_id AND json_type(document, '$.identifier') IS 'text')),
  viewable_in    TEXT CHECK (viewable_in IS NULL OR (json_valid(viewable_in) AND json_type(viewable_in) = 'array')),
  hash           TEXT    NOT NULL, -- SHA-256 of plan_id, document and viewable_in.
  -- 1: this is not the newest version of its plan, and never will be. The 1 is written later than the newer version, so an older
  -- version may still have 0. The column only makes queries quicker.
  superseded     INTEGER NOT NULL DEFAULT 0 CHECK (superseded IN (0, 1)),
  PRIMARY KEY (publication_id, base_revision, plan_id),
  CHECK ((document IS NULL) = (viewable_in IS NULL))
) STRICT;
CREATE INDEX plan_versions_by_plan ON plan_versions (plan_id);
CREATE INDEX plan_versions_not_superseded ON plan_versions (plan_id, publication_id) WHERE superseded = 0;

-- Partners, and who changed them. Each change of a partner is a row with all columns of the partner after the change, and the
-- newest row says how the partner is now. A change of a signing key is a row with the ID of the key in kid, and no partner: the
-- keys themselves are not in the database. IDs are made as revisions are: see src/db/record-numbers.ts.
CREATE TABLE change_record (
  id                INTEGER PRIMARY KEY,
  changed_at        INTEGER NOT NULL,
  actor             TEXT    NOT NULL,
  command           TEXT    NOT NULL,
  note              TEXT,
  kind              TEXT    NOT NULL, -- Such as create, rotate or suspend. No CHECK: it could not be extended later.
  -- A random ID that the command makes. When a command repeats an INSERT whose answer was lost, UNIQUE keeps out a second row.
  request_id        TEXT    NOT NULL UNIQUE,
  kid               TEXT,
  partner           TEXT    CHECK (length(partner) BETWEEN 2 AND 32 AND partner NOT GLOB '*[^a-z0-9-]*'), -- The short name.
  name              TEXT    CHECK (length(name) BETWEEN 1 AND 200),
  country           TEXT    CHECK (country GLOB '[A-Z][A-Z]'),
  client_id         TEXT    CHECK (length(client_id) = 16 AND client_id NOT GLOB '*[^A-Za-z0-9]*'),
  created_at        INTEGER,
  -- The Worker refuses a suspended partner. An ended partner is also suspended, and is never changed again.
  suspended_at      INTEGER,
  ended_at         INTEGER,
  -- The Worker refuses tokens that were issued before this time. The time of a partner never gets earlier.
  tokens_valid_from INTEGER,
  -- The client secrets: a JSON array of objects with hash, createdAt and expiresAt, which is null for the current secret. Set to
  -- NULL after the partner gets a newer row, because only the newest row needs hashes.
  secrets           TEXT    CHECK (secrets IS NULL OR (
    json_valid(secrets) AND json_type(secrets) = 'array' AND json_array_length(secrets) <= 2)),
  CHECK ((partner IS NULL) = (kid IS NOT NULL)),
  CHECK ((partner IS NULL) = (name || country || client_id || created_at IS NULL)),
  CHECK (ended_at IS NULL OR suspended_at IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX change_record_short_names ON change_record (partner) WHERE kind = 'create';
CREATE UNIQUE INDEX change_record_client_ids ON change_record (client_id) WHERE kind = 'create';
CREATE INDEX change_record_by_partner ON change_record (partner);
CREATE INDEX change_record_by_client ON change_record (client_id);
CREATE INDEX change_record_with_secrets ON change_record (partner) WHERE secrets IS NOT NULL;

-- How to reach a partner: the address of a person. No log and no row of change_record has it. It is deleted when the partner ends.
CREATE TABLE partner_contacts (
  partner TEXT PRIMARY KEY,
  contact TEXT NOT NULL CHECK (length(contact) BETWEEN 1 AND 200)
) STRICT;
