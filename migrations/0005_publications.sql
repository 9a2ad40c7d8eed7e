-- The record of the catalog: every change is a publication. Its plans are staged first, and have no effect. One UPDATE
-- publishes them: triggers check that nothing changed underneath, and apply the plans to the tables that lists are read
-- from. One statement is atomic on every transport. Times are Unix seconds. Code older than this migration does not run on it.

DROP TABLE catalog_staging;

-- Tells an exported file of this catalog from a file of another one.
ALTER TABLE catalog_revision ADD COLUMN catalog TEXT NOT NULL DEFAULT '';
UPDATE catalog_revision SET catalog = lower(hex(randomblob(8)));

CREATE TABLE publications (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  -- staging: being written; deleted when another publication leaves this state. waiting: for approval.
  state          TEXT    NOT NULL CHECK (state IN
                   ('staging', 'waiting', 'scheduled', 'published', 'conflicted', 'cancelled', 'rejected')),
  actor          TEXT    NOT NULL,
  command        TEXT    NOT NULL,
  note           TEXT,
  created_at     INTEGER NOT NULL,
  -- The revision of the catalog that the change was computed from.
  base_revision  INTEGER NOT NULL,
  plan_count     INTEGER NOT NULL,
  -- The SHA-256 of its plans. NULL: a migration wrote this publication.
  plans_hash     TEXT,
  -- The publication that this one undoes.
  undone_id      INTEGER REFERENCES publications (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  due_at         INTEGER,
  needs_approval INTEGER NOT NULL CHECK (needs_approval IN (0, 1)),
  approved_by    TEXT,
  approved_at    INTEGER,
  approval_note  TEXT,
  -- For a publication that was cancelled, rejected or conflicted.
  ended_by       TEXT,
  ended_at       INTEGER,
  end_note       TEXT,
  published_at   INTEGER,
  -- The revision of the catalog that it made.
  revision       INTEGER UNIQUE,
  -- The publication before this one, and the SHA-256 of its row.
  previous_id    INTEGER REFERENCES publications (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  previous_hash  TEXT,
  -- Its plans that a later publication before this time replaced were set to NULL.
  pruned_before  INTEGER,
  -- This publication changes no plan: it records that those before this time were pruned.
  prunes_before  INTEGER,
  CHECK ((state = 'published') = (revision IS NOT NULL AND published_at IS NOT NULL)),
  CHECK (state != 'scheduled' OR due_at IS NOT NULL),
  CHECK ((ended_at IS NOT NULL) = (state IN ('conflicted', 'cancelled', 'rejected')))
) STRICT;

CREATE INDEX publications_by_state ON publications (state, due_at);

-- Plans as JSON, as in a catalog file; NULL where the plan does not exist.
CREATE TABLE publication_plans (
  publication_id INTEGER NOT NULL REFERENCES publications (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  plan_id        INTEGER NOT NULL,
  before         TEXT CHECK (json_valid(before)),
  after          TEXT CHECK (json_valid(after)),
  PRIMARY KEY (publication_id, plan_id)
) STRICT;

CREATE INDEX publication_plans_by_plan ON publication_plans (plan_id);

CREATE TRIGGER publications_check BEFORE UPDATE OF state ON publications WHEN NEW.state = 'published'
BEGIN
  SELECT RAISE(ABORT, 'publication state') WHERE OLD.state NOT IN ('staging', 'waiting', 'scheduled');

  SELECT RAISE(ABORT, 'publication approval')
  WHERE NEW.needs_approval = 1 AND (NEW.approved_by IS NULL OR lower(NEW.approved_by) = lower(NEW.actor));

  SELECT RAISE(ABORT, 'publication incomplete')
  WHERE NEW.plan_count != (SELECT count(*) FROM publication_plans WHERE publication_id = NEW.id);

  -- A publication in between: the caller computes previous_hash again.
  SELECT RAISE(ABORT, 'publication order')
  WHERE NEW.previous_id IS NOT (
    SELECT id FROM publications WHERE revision IS NOT NULL ORDER BY revision DESC LIMIT 1
  ) OR NEW.revision <= (SELECT revision FROM catalog_revision);

  SELECT RAISE(ABORT, 'publication conflict: a plan was changed') WHERE EXISTS (
    SELECT 1 FROM publications AS later
    JOIN publication_plans AS theirs ON theirs.publication_id = later.id
    JOIN publication_plans AS ours ON ours.publication_id = NEW.id AND ours.plan_id = theirs.plan_id
    WHERE later.revision > NEW.base_revision
  );

  -- A publication must not change a plan outside it through a category, plan type, risk level or fund manager. Distinct, so
  -- that a thousand plans with the same ones are compared once.
  SELECT RAISE(ABORT, 'publication conflict: a category, plan type, risk level or fund manager was changed')
  WHERE EXISTS (
    SELECT 1 FROM (
      SELECT DISTINCT after -> '$.category' AS value FROM publication_plans WHERE publication_id = NEW.id
    ) AS staged
    JOIN plan_categories AS known ON known.id = staged.value ->> '$.id'
      AND (known.name, known.display_name, known.tag_line) IS NOT (
        staged.value ->> '$.name', staged.value ->> '$.displayName',
        staged.value ->> '$.tagLine'
      )
    JOIN plans ON plans.category_id = known.id
    WHERE plans.id NOT IN (SELECT plan_id FROM publication_plans WHERE publication_id = NEW.id)
    UNION ALL
    SELECT 1 FROM (
      SELECT DISTINCT after -> '$.planType' AS value FROM publication_plans WHERE publication_id = NEW.id
    ) AS staged
    JOIN plan_types AS known ON known.id = staged.value ->> '$.id'
      AND known.name IS NOT staged.value ->> '$.name'
    JOIN plans ON plans.plan_type_id = known.id
    WHERE plans.id NOT IN (SELECT plan_id FROM publication_plans WHERE publication_id = NEW.id)
    UNION ALL
    SELECT 1 FROM (
      SELECT DISTINCT after -> '$.productRiskLevel' AS value FROM publication_plans WHERE publication_id = NEW.id
    ) AS staged
    JOIN risk_levels AS known ON known.id = staged.value ->> '$.id'
      AND known.name IS NOT staged.value ->> '$.name'
    JOIN plans ON plans.risk_level_id = known.id
    WHERE plans.id NOT IN (SELECT plan_id FROM publication_plans WHERE publication_id = NEW.id)
    UNION ALL
    SELECT 1 FROM (
      SELECT DISTINCT after -> '$.fundManager' AS value FROM publication_plans WHERE publication_id = NEW.id
    ) AS staged
    JOIN fund_managers AS known ON known.id = staged.value ->> '$.id'
      AND known.name IS NOT staged.value ->> '$.name'
    JOIN plans ON plans.fund_manager_id = known.id
    WHERE plans.id NOT IN (SELECT plan_id FROM publication_plans WHERE publication_id = NEW.id)
  );
END;

CREATE TRIGGER publications_apply AFTER UPDATE OF state ON publications WHEN NEW.state = 'published'
BEGIN
  DELETE FROM plan_minimums WHERE plan_id IN (SELECT plan_id FROM publication_plans WHERE publication_id = NEW.id);
  DELETE FROM plan_viewability WHERE plan_id IN (SELECT plan_id FROM publication_plans WHERE publication_id = NEW.id);
  -- All of them, because an identifier may move to another ID.
  DELETE FROM plans WHERE id IN (SELECT plan_id FROM publication_plans WHERE publication_id = NEW.id);

  INSERT INTO plan_categories (id, name, display_name, tag_line)
  SELECT DISTINCT
    after ->> '$.category.id', after ->> '$.category.name', after ->> '$.category.displayName',
    after ->> '$.category.tagLine'
  FROM publication_plans WHERE publication_id = NEW.id AND after ->> '$.category.id' IS NOT NULL
  ON CONFLICT (id) DO UPDATE SET
    name = excluded.name, display_name = excluded.display_name, tag_line = excluded.tag_line
  WHERE (plan_categories.name, plan_categories.display_name, plan_categories.tag_line)
    IS NOT (excluded.name, excluded.display_name, excluded.tag_line);

  INSERT INTO plan_types (id, name)
  SELECT DISTINCT after ->> '$.planType.id', after ->> '$.planType.name'
  FROM publication_plans WHERE publication_id = NEW.id AND after ->> '$.planType.id' IS NOT NULL
  ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE plan_types.name IS NOT excluded.name;

  INSERT INTO risk_levels (id, name)
  SELECT DISTINCT after ->> '$.productRiskLevel.id', after ->> '$.productRiskLevel.name'
  FROM publication_plans WHERE publication_id = NEW.id AND after ->> '$.productRiskLevel.id' IS NOT NULL
  ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE risk_levels.name IS NOT excluded.name;

  INSERT INTO fund_managers (id, name)
  SELECT DISTINCT after ->> '$.fundManager.id', after ->> '$.fundManager.name'
  FROM publication_plans WHERE publication_id = NEW.id AND after ->> '$.fundManager.id' IS NOT NULL
  ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE fund_managers.name IS NOT excluded.name;

  INSERT INTO plans (
    id, identifier, name, cool_name, about,
    hint, image_url, thumbnail, sector, fund_type,
    profit_type, profit_type_description, performance_1, performance_3, performance_5,
    performance_10, performance_date, currency, tenor, lock_in_period_days,
    is_partial_withdrawable, fact_sheet, prospectus, is_investable, non_investable_note,
    category_id, plan_type_id, risk_level_id, fund_manager_id, fund_currency
  )
  SELECT
    after ->> '$.id', after ->> '$.identifier', after ->> '$.name',
    after ->> '$.coolName', after ->> '$.about', after ->> '$.hint',
    after ->> '$.imageUrl', after ->> '$.thumbnail', after ->> '$.sector',
    after ->> '$.fundType', after ->> '$.profitType', after ->> '$.profitTypeDescription',
    after ->> '$.performance1', after ->> '$.performance3', after ->> '$.performance5',
    after ->> '$.performance10', after ->> '$.performanceDate', after ->> '$.currency',
    after ->> '$.tenor', after ->> '$.lockInPeriod', after ->> '$.partialWithdrawable',
    after ->> '$.factSheet', after ->> '$.prospectus', after ->> '$.isInvestable',
    after ->> '$.nonInvestableNote', after ->> '$.category.id', after ->> '$.planType.id',
    after ->> '$.productRiskLevel.id', after ->> '$.fundManager.id', after ->> '$.fundCurrency.currency'
  FROM publication_plans WHERE publication_id = NEW.id AND after IS NOT NULL;

  INSERT INTO plan_minimums (plan_id, currency, min_investable_amount, min_top_up_amount)
  SELECT plan_id, currency, max(min_investable_amount), max(min_top_up_amount) FROM (
    SELECT plan_id, amount.key AS currency, amount.value AS min_investable_amount, NULL AS min_top_up_amount
    FROM publication_plans, json_each(after, '$.minInvestableAmounts') AS amount WHERE publication_id = NEW.id
    UNION ALL
    SELECT plan_id, amount.key, NULL, amount.value
    FROM publication_plans, json_each(after, '$.minTopUpAmounts') AS amount WHERE publication_id = NEW.id
  ) GROUP BY plan_id, currency;

  INSERT INTO plan_viewability (country, plan_id)
  SELECT country.value, plan_id
  FROM publication_plans, json_each(after, '$.viewableIn') AS country WHERE publication_id = NEW.id;

  UPDATE catalog_revision SET revision = NEW.revision;
END;

CREATE TRIGGER publications_clean AFTER UPDATE OF state ON publications
WHEN OLD.state = 'staging' AND NEW.state != 'staging'
BEGIN
  DELETE FROM publication_plans WHERE publication_id IN (SELECT id FROM publications WHERE state = 'staging');
  DELETE FROM publications WHERE state = 'staging';
END;

CREATE TRIGGER publications_prune AFTER UPDATE OF pruned_before ON publications WHEN NEW.pruned_before IS NOT NULL
BEGIN
  -- The rest still answers for the time after it.
  UPDATE publication_plans SET before = NULL, after = NULL WHERE publication_id = NEW.id AND (
    NEW.state != 'published'
    OR EXISTS (
      SELECT 1 FROM publication_plans AS other JOIN publications AS later ON later.id = other.publication_id
      WHERE other.plan_id = publication_plans.plan_id
        AND later.revision > NEW.revision AND later.published_at < NEW.pruned_before
    )
  );
END;

-- The catalog as it is becomes the first publication.
INSERT INTO publications
  (state, actor, command, created_at, base_revision, plan_count, needs_approval, published_at, revision)
SELECT 'published', 'migration', 'migration', unixepoch(), 0, (SELECT count(*) FROM plans), 0, unixepoch(), revision
FROM catalog_revision WHERE EXISTS (SELECT 1 FROM plans);

INSERT INTO publication_plans (publication_id, plan_id, after)
SELECT 1, plans.id, json_object(
  'id', plans.id, 'identifier', identifier, 'name', plans.name, 'coolName', cool_name, 'about', about, 'hint', hint,
  'imageUrl', image_url, 'thumbnail', thumbnail, 'sector', sector, 'fundType', fund_type, 'profitType', profit_type,
  'profitTypeDescription', profit_type_description, 'performance1', performance_1, 'performance3', performance_3,
  'performance5', performance_5, 'performance10', performance_10, 'performanceDate', performance_date,
  'currency', currency,
  'minInvestableAmounts', (SELECT json_group_object(currency, min_investable_amount)
    FILTER (WHERE min_investable_amount IS NOT NULL) FROM plan_minimums WHERE plan_id = plans.id),
  'minTopUpAmounts', (SELECT json_group_object(currency, min_top_up_amount)
    FILTER (WHERE min_top_up_amount IS NOT NULL) FROM plan_minimums WHERE plan_id = plans.id),
  'tenor', tenor, 'lockInPeriod', lock_in_period_days,
  'partialWithdrawable', json(iif(is_partial_withdrawable, 'true', 'false')),
  'factSheet', fact_sheet, 'prospectus', prospectus, 'isInvestable', json(iif(is_investable, 'true', 'false')),
  'nonInvestableNote', non_investable_note,
  'category', (SELECT json_object('id', id, 'name', name, 'displayName', display_name, 'tagLine', tag_line)
    FROM plan_categories WHERE id = category_id),
  'planType', (SELECT json_object('id', id, 'name', name) FROM plan_types WHERE id = plan_type_id),
  'productRiskLevel', (SELECT json_object('id', id, 'name', name) FROM risk_levels WHERE id = risk_level_id),
  'fundManager', (SELECT json_object('id', id, 'name', name) FROM fund_managers WHERE id = fund_manager_id),
  'fundCurrency', iif(fund_currency IS NULL, NULL, json_object('currency', fund_currency)),
  'viewableIn', (SELECT json_group_array(country ORDER BY country) FROM plan_viewability WHERE plan_id = plans.id)
)
FROM plans;
