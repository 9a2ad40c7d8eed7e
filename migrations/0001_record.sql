-- The record is the data. Every change is one statement on one table, which is atomic on every transport: a publication takes
-- effect when its row becomes published, and a change of a partner when its next row is inserted. What is published and rows of
-- the change record never change, but for superseded and secrets below. There are no triggers, no views, and no foreign keys,
-- which an import of a dump could not order. Times are Unix seconds of the clock of D1. Texts of the record are one line.
-- JSON is checked by json_valid: the other functions of SQLite also take JSON5, which JSON.parse and partners refuse.

-- One row. The name is a random ID that exported files carry, so that a file of another catalog is recognised.
CREATE TABLE catalog (
  id   INTEGER PRIMARY KEY CHECK (id = 1),
  name TEXT    NOT NULL
) STRICT;
INSERT INTO catalog (id, name) VALUES (1, lower(hex(randomblob(8))));

-- What was proposed for the catalog, by whom, and what was decided. A publication is staged with its plans, without any effect.
-- Whether it fits the catalog is decided before (src/catalog/fit.ts). One UPDATE publishes it, if it is complete and nothing was
-- published since that decision. The catalog is the newest published version of each plan. AUTOINCREMENT: the ID of deleted
-- staging is never used again.
CREATE TABLE publications (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  -- staging: being written, deleted after an hour. waiting: for approval. scheduled: for due_at. Then one of the last three.
  -- conflicted: it did not fit the catalog any more.
  state          TEXT    NOT NULL CHECK (state IN
                   ('staging', 'waiting', 'scheduled', 'published', 'conflicted', 'cancelled')),
  actor          TEXT    NOT NULL,
  command        TEXT    NOT NULL,
  note           TEXT,
  created_at     INTEGER NOT NULL,
  -- The revision of the catalog that its plans were computed from. Only versions with the same base_revision belong to it. A merge
  -- with later changes writes a second set under a newer base, and publishing switches to that set.
  base_revision  INTEGER NOT NULL,
  plan_count     INTEGER NOT NULL, -- Without plans it only raises the revision, which outdates cached lists.
  undone_id      INTEGER, -- The publication that this one takes back.
  redone_id      INTEGER, -- The publication that this one makes again.
  -- What its author confirmed, for its approver: a JSON array of sentences.
  warnings       TEXT    NOT NULL CHECK (json_valid(warnings) AND json_type(warnings) = 'array'),
  due_at         INTEGER,
  needs_approval INTEGER NOT NULL CHECK (needs_approval IN (0, 1)),
  approved_by    TEXT,    approved_at INTEGER, approved_note TEXT,
  -- Who published or ended it. The schedule is an actor, too.
  decided_by     TEXT,    decided_at  INTEGER, decided_note  TEXT,
  conflict       TEXT, -- Why it conflicted. It stays when the publication is cancelled afterwards.
  -- The revision of the catalog that it made: the newest one plus 1, and at least the time in Unix milliseconds, so that a
  -- restored database uses none twice.
  revision       INTEGER UNIQUE,
  CHECK ((state = 'published') = (revision IS NOT NULL)),
  CHECK ((state IN ('staging', 'waiting', 'scheduled')) = (decided_by IS NULL)),
  CHECK (state <> 'scheduled' OR due_at IS NOT NULL),
  CHECK (state <> 'conflicted' OR conflict IS NOT NULL),
  CHECK (needs_approval = 0 OR state NOT IN ('scheduled', 'published') OR approved_by IS NOT NULL),
  CHECK (lower(approved_by) <> lower(actor)) -- Four eyes.
) STRICT;
CREATE INDEX publications_by_state ON publications (state, due_at);

-- The plans of each publication, as computed from the catalog at base_revision: the JSON object that partners get, whose text is
-- never parsed for a request, and the JSON array of the countries in whose lists it is. NULL: the plan is removed.
CREATE TABLE plan_versions (
  publication_id INTEGER NOT NULL,
  base_revision  INTEGER NOT NULL,
  plan_id        INTEGER NOT NULL,
  document       TEXT CHECK (document IS NULL OR (
    json_valid(document) AND document ->> '$.id' IS plan_id AND json_type(document, '$.identifier') IS 'text')),
  viewable_in    TEXT CHECK (viewable_in IS NULL OR (json_valid(viewable_in) AND json_type(viewable_in) = 'array')),
  hash           TEXT    NOT NULL, -- SHA-256 of plan_id, document and viewable_in.
  -- 1: it is not the current version, and never will be. Set some time after that became true, so 0 may still be an old
  -- version: the mark only saves reading.
  superseded     INTEGER NOT NULL DEFAULT 0 CHECK (superseded IN (0, 1)),
  PRIMARY KEY (publication_id, base_revision, plan_id),
  CHECK ((document IS NULL) = (viewable_in IS NULL))
) STRICT;
CREATE INDEX plan_versions_by_plan ON plan_versions (plan_id);
CREATE INDEX plan_versions_not_superseded ON plan_versions (plan_id, publication_id) WHERE superseded = 0;

-- Partners, and who changed them. A row is the whole partner after a change, and the newest row is what the partner is: a
-- suspension is a next row with suspended_at, which the Worker reads. A change of a signing key is a row with a kid only: keys
-- are not in the database. The IDs are times in Unix milliseconds, as revisions are.
CREATE TABLE change_record (
  id                INTEGER PRIMARY KEY,
  changed_at        INTEGER NOT NULL,
  actor             TEXT    NOT NULL,
  command           TEXT    NOT NULL,
  note              TEXT,
  kind              TEXT    NOT NULL, -- Such as create, rotate or suspend. No CHECK: it could not be extended later.
  -- Made by the command, so that its repetition after a lost answer inserts nothing.
  request_id        TEXT    NOT NULL UNIQUE,
  kid               TEXT,
  partner           TEXT    CHECK (length(partner) BETWEEN 2 AND 32 AND partner NOT GLOB '*[^a-z0-9-]*'), -- The short name.
  name              TEXT    CHECK (length(name) BETWEEN 1 AND 200),
  country           TEXT    CHECK (country GLOB '[A-Z][A-Z]'),
  client_id         TEXT    CHECK (length(client_id) = 16 AND client_id NOT GLOB '*[^A-Za-z0-9]*'),
  created_at        INTEGER,
  -- The Worker refuses a suspended partner. An ended one is also suspended, and gets no further row.
  suspended_at      INTEGER,
  ended_at         INTEGER,
  -- The Worker refuses tokens that were issued earlier. It only moves forward.
  tokens_valid_from INTEGER,
  -- The client secrets: a JSON array of hash, createdAt and expiresAt, which is null for the current one. Set to NULL when a
  -- next row took its place, so that no hash of an ended secret is kept.
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

-- How to reach a partner: the address of a person, so it is in no log, and is deleted when the partner ends.
CREATE TABLE partner_contacts (
  partner TEXT PRIMARY KEY,
  contact TEXT NOT NULL CHECK (length(contact) BETWEEN 1 AND 200)
) STRICT;
