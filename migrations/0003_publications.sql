-- The record of the catalog: what was proposed (publications), the plans of each proposal (plan_versions), and what was
-- decided (publication_entries). Plans are staged first and have no effect. One INSERT of an entry publishes them: its
-- trigger checks that nothing changed underneath and replaces the plans. One statement is atomic on every transport.
-- Times are Unix seconds.

CREATE TABLE publications (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  -- staging: being written, and deleted after an hour. waiting: for approval. scheduled: for its time.
  state          TEXT    NOT NULL CHECK (state IN
                   ('staging', 'waiting', 'scheduled', 'published', 'conflicted', 'cancelled', 'rejected')),
  actor          TEXT    NOT NULL,
  command        TEXT    NOT NULL,
  note           TEXT,
  created_at     INTEGER NOT NULL DEFAULT (unixepoch()),
  -- The revision of the catalog that the change was computed from. What a plan was before is its newest version up to it.
  base_revision  INTEGER NOT NULL DEFAULT 0,
  plan_count     INTEGER NOT NULL DEFAULT 0,
  -- The SHA-256 of its plans. NULL: none.
  plans_hash     TEXT,
  -- The publication that this one undoes.
  undone_id      INTEGER REFERENCES publications (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  due_at         INTEGER,
  needs_approval INTEGER NOT NULL DEFAULT 0 CHECK (needs_approval IN (0, 1)),
  CHECK ((plan_count = 0) = (plans_hash IS NULL)),
  CHECK (state <> 'scheduled' OR due_at IS NOT NULL)
) STRICT;

CREATE INDEX publications_by_state ON publications (state, due_at);

-- Each version of a plan: its document and the JSON array of the countries where it is viewable. NULL: the plan is removed.
CREATE TABLE plan_versions (
  publication_id INTEGER NOT NULL REFERENCES publications (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  plan_id        INTEGER NOT NULL,
  document       TEXT CHECK (document IS NULL OR (json_valid(document) AND document ->> '$.id' IS plan_id)),
  viewable_in    TEXT CHECK (json_valid(viewable_in)),
  PRIMARY KEY (publication_id, plan_id),
  CHECK ((document IS NULL) = (viewable_in IS NULL))
) STRICT;

CREATE INDEX plan_versions_by_plan ON plan_versions (plan_id);

-- The decisions, as a chain: each entry holds the SHA-256 of the entry before it and of its publication. NULL: the first.
CREATE TABLE publication_entries (
  id             INTEGER PRIMARY KEY,
  publication_id INTEGER NOT NULL REFERENCES publications (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  kind           TEXT    NOT NULL CHECK (kind IN ('published', 'approved', 'conflicted', 'cancelled', 'rejected')),
  actor          TEXT    NOT NULL,
  note           TEXT,
  made_at        INTEGER NOT NULL,
  -- The revision of the catalog that the entry made by publishing. NULL for an approval that the schedule publishes later.
  revision       INTEGER UNIQUE,
  previous_hash  TEXT,
  CHECK (kind = 'approved' OR (kind = 'published') = (revision IS NOT NULL)),
  CHECK ((id = 1) = (previous_hash IS NULL))
) STRICT;

CREATE INDEX publication_entries_by_publication ON publication_entries (publication_id);

-- IDs have no gaps. A writer that was overtaken reads the newest hash again.
CREATE TRIGGER publication_entries_are_a_chain BEFORE INSERT ON publication_entries
WHEN NEW.id <> (SELECT coalesce(max(id), 0) + 1 FROM publication_entries)
BEGIN
  SELECT RAISE(ABORT, 'entry_order');
END;

CREATE TRIGGER publication_entries_refuse_updates BEFORE UPDATE ON publication_entries
BEGIN
  SELECT RAISE(ABORT, 'append_only');
END;

CREATE TRIGGER publication_entries_refuse_deletes BEFORE DELETE ON publication_entries
BEGIN
  SELECT RAISE(ABORT, 'append_only');
END;

-- Staged publications that nobody finished within an hour.
CREATE VIEW abandoned_publications AS
SELECT id FROM publications
WHERE state = 'staging' AND created_at < unixepoch() - 3600 AND id NOT IN (SELECT publication_id FROM publication_entries);

-- Not during a restore: it inserts publications in their last state, and plans as the entries left them.
CREATE TRIGGER publication_entries_decide BEFORE INSERT ON publication_entries
WHEN (SELECT catalog NOT GLOB 'restoring *' FROM catalog_revision)
BEGIN
  SELECT RAISE(ABORT, 'publication_state') WHERE NOT EXISTS (
    SELECT 1 FROM publications WHERE id = NEW.publication_id AND (
      state = 'waiting'
      OR (state = 'staging' AND NEW.kind = 'published')
      OR (state = 'scheduled' AND NEW.kind IN ('published', 'conflicted', 'cancelled'))
      OR (state = 'conflicted' AND NEW.kind = 'cancelled')
    )
  );
  SELECT RAISE(ABORT, 'publication_approval') FROM publications
  WHERE id = NEW.publication_id AND NEW.kind = 'approved' AND lower(actor) = lower(NEW.actor);
  UPDATE publications
  SET state = iif(NEW.revision IS NOT NULL, 'published', iif(NEW.kind = 'approved', 'scheduled', NEW.kind))
  WHERE id = NEW.publication_id;
END;

CREATE TRIGGER publication_entries_publish AFTER INSERT ON publication_entries
WHEN NEW.revision IS NOT NULL AND (SELECT catalog NOT GLOB 'restoring *' FROM catalog_revision)
BEGIN
  SELECT RAISE(ABORT, 'publication_approval') FROM publications
  WHERE id = NEW.publication_id AND needs_approval = 1
    AND NOT EXISTS (SELECT 1 FROM publication_entries WHERE publication_id = NEW.publication_id AND kind = 'approved');
  SELECT RAISE(ABORT, 'publication_incomplete') FROM publications
  WHERE id = NEW.publication_id
    AND plan_count <> (SELECT count(*) FROM plan_versions WHERE publication_id = NEW.publication_id);
  SELECT RAISE(ABORT, 'revision_order') FROM catalog_revision WHERE NEW.revision <= revision;
  SELECT RAISE(ABORT, 'plan_changed') WHERE EXISTS (
    SELECT 1 FROM publication_entries AS later JOIN plan_versions AS theirs USING (publication_id)
    WHERE later.revision > (SELECT base_revision FROM publications WHERE id = NEW.publication_id) AND later.id < NEW.id
      AND theirs.plan_id IN (SELECT plan_id FROM plan_versions WHERE publication_id = NEW.publication_id)
  );
  -- A migration that adds a field changes the stored plans, but none that is staged or pending.
  SELECT RAISE(ABORT, 'fields_differ') FROM plan_versions WHERE publication_id = NEW.publication_id
    AND (SELECT group_concat(key) FROM json_each(document))
      <> (SELECT group_concat(key) FROM json_each((SELECT document FROM plans LIMIT 1)));

  DELETE FROM plan_viewability
  WHERE plan_id IN (SELECT plan_id FROM plan_versions WHERE publication_id = NEW.publication_id);
  DELETE FROM plans WHERE id IN (SELECT plan_id FROM plan_versions WHERE publication_id = NEW.publication_id);
  SELECT RAISE(ABORT, 'identifier_taken') FROM plan_versions AS version
  JOIN plans ON plans.identifier = version.document ->> '$.identifier' WHERE publication_id = NEW.publication_id;
  INSERT INTO plans (id, document)
  SELECT plan_id, document FROM plan_versions WHERE publication_id = NEW.publication_id AND document IS NOT NULL;
  INSERT INTO plan_viewability (country, plan_id)
  SELECT value, plan_id FROM plan_versions, json_each(viewable_in) WHERE publication_id = NEW.publication_id;
  UPDATE catalog_revision SET revision = NEW.revision;
  -- Objects with the same ID, such as a category or a fund manager, must be the same in all plans.
  SELECT RAISE(ABORT, 'plans_disagree') WHERE EXISTS (
    SELECT 1 FROM (SELECT DISTINCT key, value FROM plans, json_each(document) WHERE type = 'object')
    WHERE value ->> '$.id' IS NOT NULL GROUP BY key, value ->> '$.id' HAVING count(*) > 1
  );

  DELETE FROM plan_versions WHERE publication_id IN (SELECT id FROM abandoned_publications);
  DELETE FROM publications WHERE id IN (SELECT id FROM abandoned_publications);
END;
