-- SPDX-License-Identifier: MIT
-- foretrain's database: one row of `run` per simulated step, everything else hangs from it by run_id.
--
-- Units stand in the names: _ps is INTEGER picoseconds of simulated time, _bytes INTEGER bytes; shares are 0 to 1;
-- money is USD. Times are of the last steady step and count from its start, unless a column says otherwise. NULL is
-- "none" or "not known", never zero.
--
-- Running the same settings again adds another run with the same run_key: history is kept, and whoever looks a run up
-- by its key gets the newest. Deleting a run deletes all that hangs from it (with foreign keys on). A run is written in
-- one transaction: it is there in full or not at all.
--
-- Runs that were asked for without a timeline have no rows in task, collective, exposure and memory.
--
-- Columns come with the models that compute them; none stands here empty in advance. Column names in `run` are also the
-- keys of the JSON output, and without _ps or _bytes the names of metrics.

PRAGMA application_id = 1182028398; -- 0x4674526e, "FtRn": tells this file from other SQLite files
PRAGMA user_version = 11;           -- of this schema; a file of another version is refused

CREATE TABLE run (
  run_id                     INTEGER PRIMARY KEY, -- ascending in order of writing
  run_key                    TEXT NOT NULL,    -- SHA-256 (hexadecimal) of canonical settings, catalogue and
                                               -- model_version
  model_version              TEXT NOT NULL,    -- results version of foretrain's own models
  -- What was asked
  workload                   TEXT NOT NULL,    -- workload file
  topology                   TEXT NOT NULL,    -- topology file
  model                      TEXT NOT NULL,    -- name of the model
  parameters                 INTEGER NOT NULL, -- of the model, as a count
  framework                  TEXT NOT NULL,    -- ddp, deepspeed, fsdp1, fsdp2, megatron, nanotron, paper
  zero_stage                 INTEGER NOT NULL, -- 0 to 3
  gpu                        TEXT NOT NULL,    -- name in the catalogue of GPUs
  gpus                       INTEGER NOT NULL, -- in all
  nodes                      INTEGER NOT NULL,
  sequence_length            INTEGER NOT NULL, -- tokens
  micro_batch                INTEGER NOT NULL, -- sequences per GPU and micro-batch
  gradient_accumulation      INTEGER NOT NULL, -- micro-batches per step
  global_batch               INTEGER NOT NULL, -- sequences per step, all GPUs
  precision                  TEXT NOT NULL,    -- bf16, fp16, fp32, tf32, fp8
  activation_checkpointing   TEXT NOT NULL,    -- none, full, …
  tokens                     INTEGER NOT NULL, -- per step, all GPUs
  -- What came of it. Times are of the slowest rank class, memory and verdict of the tightest (see rank_class)
  -- edge: capacity_bytes lies between device_used_low_bytes and device_used_high_bytes, or it fits only because the
  -- allocator gave its cache back
  verdict                    TEXT NOT NULL CHECK (verdict IN ('fits', 'edge', 'oom')),
  step_ps                    INTEGER NOT NULL, -- period of the step; where memory runs out: as if it had no end
  compute_ps                 INTEGER NOT NULL, -- some compute kernel runs
  communication_ps           INTEGER NOT NULL, -- some communication kernel is resident, hidden or not
  exposed_ps                 INTEGER NOT NULL, -- of these, while no compute runs
  exposed_share              REAL NOT NULL,    -- exposed_ps / step_ps
  idle_ps                    INTEGER NOT NULL, -- neither: host_ps + bubble_ps
  host_ps                    INTEGER NOT NULL, -- idle because the host had launched nothing yet
  bubble_ps                  INTEGER NOT NULL, -- idle in a pipeline's bubble
  network_bytes_intra        INTEGER NOT NULL, -- bytes sent per GPU and step over links inside the node
  network_bytes_inter        INTEGER NOT NULL, -- bytes sent per GPU and step over links between nodes
  tokens_per_second          REAL NOT NULL,    -- all GPUs
  tokens_per_second_per_gpu  REAL NOT NULL,
  model_flops_utilisation    REAL NOT NULL,    -- of the data sheet's dense peak; attention in full (above 1 is
                                               -- possible), recomputation not counted
  hardware_flops_utilisation REAL NOT NULL,    -- of the same peak, what is executed: causal attention skips half,
                                               -- recomputation counted
  steady_allocated_bytes     INTEGER NOT NULL, -- allocated between steps: blocks that tensors hold, library workspaces
                                               -- among them
  peak_allocated_bytes       INTEGER NOT NULL, -- most that is allocated at any moment of all steps played (torch's
                                               -- max_memory_allocated)
  peak_active_bytes          INTEGER NOT NULL, -- the same with blocks that were freed and wait for a stream
                                               -- (record_stream)
  peak_reserved_bytes        INTEGER NOT NULL, -- most that the caching allocator holds of the device (torch's
                                               -- max_memory_reserved)
  device_used_bytes          INTEGER NOT NULL, -- most that nvidia-smi would show: reserved, context, NCCL's buffers
  device_used_low_bytes      INTEGER NOT NULL, -- interval around device_used_bytes that 80 % of cases are to fall into,
                                               -- from the residuals of published peaks of reserved memory
  device_used_high_bytes     INTEGER NOT NULL, -- (topologies/catalog/margins.csv)
  capacity_bytes             INTEGER NOT NULL, -- usable size of the device's memory; overhead counts against it
  short_by_bytes             INTEGER NOT NULL, -- what is missing where memory runs out (under 'oom', or under 'edge' by
                                               -- less than the interval), else 0
  alloc_retries              INTEGER NOT NULL, -- times the allocator gave its cache back to make room, over all steps
                                               -- played
  alloc_stall_ps             INTEGER NOT NULL, -- host time that these take in the step: the wait for all streams, and
                                               -- the device's allocator
  host_used_bytes            INTEGER,          -- host memory of a node that offload keeps, and that paged states have
                                               -- passed through. NULL: nothing is there
  host_capacity_bytes        INTEGER,          -- host memory of a node. NULL: the topology does not state it, or
                                               -- nothing is offloaded or paged
  paged_bytes                INTEGER,          -- a GPU's optimizer states in managed memory. NULL: none are
  paged_host_bytes           INTEGER,          -- of these, what lies in host memory between steps: the GPU has no room
                                               -- for it. NULL: none
  price_per_step             REAL,             -- USD
  price_per_million_tokens   REAL,             -- USD
  days_to_train              REAL,             -- days for the workload's total_tokens
  price_to_train             REAL,             -- USD for the workload's total_tokens
  gpu_power_watts            REAL,             -- of a GPU's board, mean of the step. NULL: its limit is not known
  energy_per_step_kwh        REAL,             -- at the building's meter: GPUs, the rest of their nodes, cooling
  energy_to_train_kwh        REAL,             -- the same for the workload's total_tokens
  energy_cost_to_train       REAL,             -- USD for it at power.kwh_price
  step_low_ps                INTEGER,          -- interval around step_ps that 80 % of cases are to fall into, from the
                                               -- residuals of published steps: always holds step_ps
  step_high_ps               INTEGER,          -- NULL: too few were validated
  validated_rows             INTEGER NOT NULL, -- published steps like this one that were validated; 0: it lies beyond
                                               -- them
  envelope                   TEXT,             -- "validated: …" or "beyond what was validated: …" and why; which
                                               -- residuals the interval is of
  slowest_class              INTEGER NOT NULL, -- rank_class whose times stand above
  tightest_class             INTEGER NOT NULL, -- rank_class whose memory stands above: nearest to, or furthest over,
                                               -- its capacity
  steps_played               INTEGER NOT NULL, -- steady steps played until they repeated
  repeats                    INTEGER NOT NULL CHECK (repeats IN (0, 1)), -- 0: the last step still differed from the
                                               -- one before
  CONSTRAINT run_step_inside CHECK (step_ps BETWEEN step_low_ps AND step_high_ps),
  CONSTRAINT run_step_adds_up CHECK (compute_ps + exposed_ps + idle_ps = step_ps),
  CONSTRAINT run_idle_adds_up CHECK (host_ps + bubble_ps = idle_ps)
) STRICT;
CREATE INDEX run_by_key ON run (run_key);

-- Every input in canonical form.
CREATE TABLE setting (
  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  name   TEXT NOT NULL, -- group.key
  value  TEXT NOT NULL, -- with its unit in the base ("50000000000 B/s")
  origin TEXT NOT NULL, -- default, recipe, file, command line
  PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

-- Assumptions that a reader of the results must know.
CREATE TABLE note (
  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  number INTEGER NOT NULL, -- 0, 1, … as printed
  text   TEXT NOT NULL,
  PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;

-- Ranks that behave alike, and their own results: columns mean what they mean in `run`.
CREATE TABLE rank_class (
  run_id                 INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  rank_class             INTEGER NOT NULL, -- 0, 1, …
  ranks                  INTEGER NOT NULL, -- how many
  first_rank             INTEGER NOT NULL, -- the least of them
  role                   TEXT,             -- what they hold: 'stage 1: layers 8-15'; NULL: all hold the same
  verdict                TEXT NOT NULL CHECK (verdict IN ('fits', 'edge', 'oom')),
  step_ps                INTEGER NOT NULL,
  compute_ps             INTEGER NOT NULL,
  communication_ps       INTEGER NOT NULL,
  exposed_ps             INTEGER NOT NULL,
  exposed_share          REAL NOT NULL,
  idle_ps                INTEGER NOT NULL,
  host_ps                INTEGER NOT NULL,
  bubble_ps              INTEGER NOT NULL,
  network_bytes_intra    INTEGER NOT NULL,
  network_bytes_inter    INTEGER NOT NULL,
  steady_allocated_bytes INTEGER NOT NULL,
  peak_allocated_bytes   INTEGER NOT NULL,
  peak_active_bytes      INTEGER NOT NULL,
  peak_reserved_bytes    INTEGER NOT NULL,
  device_used_bytes      INTEGER NOT NULL,
  device_used_low_bytes  INTEGER NOT NULL,
  device_used_high_bytes INTEGER NOT NULL,
  capacity_bytes         INTEGER NOT NULL,
  short_by_bytes         INTEGER NOT NULL,
  alloc_retries          INTEGER NOT NULL,
  alloc_stall_ps         INTEGER NOT NULL,
  PRIMARY KEY (run_id, rank_class),
  CONSTRAINT class_step_adds_up CHECK (compute_ps + exposed_ps + idle_ps = step_ps),
  CONSTRAINT class_idle_adds_up CHECK (host_ps + bubble_ps = idle_ps)
) STRICT, WITHOUT ROWID;

-- The timeline: what ran on a rank of the class, and when.
CREATE TABLE task (
  run_id     INTEGER NOT NULL,
  rank_class INTEGER NOT NULL,
  task_id    INTEGER NOT NULL, -- row of the program's steady section
  stream     TEXT NOT NULL,
  kind       TEXT NOT NULL,    -- compute, collective
  name       TEXT NOT NULL,
  layer      INTEGER,          -- NULL: of no layer
  phase      TEXT NOT NULL,    -- setup, forward, backward, recompute, reduce, optimizer, gather
  micro      INTEGER,          -- micro-batch; NULL: of none
  issued_ps  INTEGER NOT NULL, -- when the host had issued it; negative where that was before the step began
  host_ps    INTEGER NOT NULL, -- host time that issuing it took
  start_ps   INTEGER NOT NULL,
  end_ps     INTEGER NOT NULL,
  repeats    INTEGER NOT NULL DEFAULT 1, -- for how many it stands: more than 1 in what table counted names
  PRIMARY KEY (run_id, rank_class, task_id),
  FOREIGN KEY (run_id, rank_class) REFERENCES rank_class ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What NCCL would choose for each collective, and how it went.
CREATE TABLE collective (
  run_id        INTEGER NOT NULL,
  rank_class    INTEGER NOT NULL,
  task_id       INTEGER NOT NULL, -- its row in task
  operation     TEXT NOT NULL,    -- all-gather, reduce-scatter, …
  algorithm     TEXT NOT NULL,    -- ring, tree, …
  protocol      TEXT NOT NULL,    -- LL, LL128, Simple
  channels      INTEGER NOT NULL,
  bytes         INTEGER NOT NULL, -- as nccl-tests counts the size of the operation
  group_size    INTEGER NOT NULL, -- ranks
  queued_ps     INTEGER NOT NULL, -- issued by the host, its needs met
  start_ps      INTEGER NOT NULL, -- resident
  end_ps        INTEGER NOT NULL,
  bus_bandwidth REAL NOT NULL,    -- bytes/s, as nccl-tests defines it
  repeats       INTEGER NOT NULL DEFAULT 1, -- as of its task
  PRIMARY KEY (run_id, rank_class, task_id),
  FOREIGN KEY (run_id, rank_class) REFERENCES rank_class ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Every interval in which a rank computes nothing. The causes bubble and host-idle are idle time and add up to
-- bubble_ps and host_ps; all others are exposed communication and add up to exposed_ps.
CREATE TABLE exposure (
  run_id     INTEGER NOT NULL,
  rank_class INTEGER NOT NULL,
  start_ps   INTEGER NOT NULL,
  end_ps     INTEGER NOT NULL,
  task_id    INTEGER,       -- the collective that the next compute waits for; NULL: none
  cause      TEXT NOT NULL, -- tail, host, serialised, straggler, boundary, bucket-fill, latency, bandwidth,
                            -- bubble, host-idle
  repeats    INTEGER NOT NULL DEFAULT 1, -- as of a task: length times repeats adds up
  PRIMARY KEY (run_id, rank_class, start_ps),
  FOREIGN KEY (run_id, rank_class) REFERENCES rank_class ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Micro-batches that are alike are kept once: what a class does from start_ps to end_ps comes `more` times again, each
-- period_ps after the one before. No row: all micro-batches are kept.
CREATE TABLE counted (
  run_id     INTEGER NOT NULL,
  rank_class INTEGER NOT NULL,
  start_ps   INTEGER NOT NULL,
  end_ps     INTEGER NOT NULL,
  period_ps  INTEGER NOT NULL,
  more       INTEGER NOT NULL,
  PRIMARY KEY (run_id, rank_class),
  FOREIGN KEY (run_id, rank_class) REFERENCES rank_class ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Memory over time: a level holds until the tenant's next row. The first rows stand at 0.
CREATE TABLE memory (
  run_id     INTEGER NOT NULL,
  rank_class INTEGER NOT NULL,
  at_ps      INTEGER NOT NULL,
  tenant     TEXT NOT NULL,    -- parameters, gradients, optimizer, activations, temporary, communication, overhead
  bytes      INTEGER NOT NULL,
  PRIMARY KEY (run_id, rank_class, at_ps, tenant),
  FOREIGN KEY (run_id, rank_class) REFERENCES rank_class ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Who holds what when tensors, context and buffers hold most, over all steps played. Rounding and the allocator's cache
-- come on top: device_used_bytes is at least the sum.
CREATE TABLE memory_peak (
  run_id       INTEGER NOT NULL,
  rank_class   INTEGER NOT NULL,
  tenant       TEXT NOT NULL,
  bytes        INTEGER NOT NULL,
  unique_bytes INTEGER NOT NULL, -- how much of it exists once over the cluster; the rest is copies
  at_ps        INTEGER NOT NULL, -- since the start of its step
  step         INTEGER NOT NULL, -- 0: the first step, 1: the first steady one, …
  task_name    TEXT,             -- what the host was issuing
  layer        INTEGER,          -- NULL: of no layer
  phase        TEXT,
  PRIMARY KEY (run_id, rank_class, tenant),
  FOREIGN KEY (run_id, rank_class) REFERENCES rank_class ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What the links carried.
CREATE TABLE link (
  run_id      INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  link_class  TEXT NOT NULL,
  links       INTEGER NOT NULL, -- how many
  bytes       INTEGER NOT NULL, -- over all links of the class, in the step
  busy_ps     INTEGER NOT NULL, -- of the busiest
  utilisation REAL NOT NULL,    -- bytes / (links × capacity × step)
  PRIMARY KEY (run_id, link_class)
) STRICT, WITHOUT ROWID;

-- The first request that could not be met; no row where everything fits.
CREATE TABLE oom (
  run_id          INTEGER NOT NULL,
  rank_class      INTEGER NOT NULL,
  at_ps           INTEGER NOT NULL, -- since the start of its step
  step            INTEGER NOT NULL, -- 0: the first step, 1: the first steady one, …
  task_id         INTEGER NOT NULL, -- row of the program: of its first section in step 0, else of the steady one
  task_name       TEXT NOT NULL,
  layer           INTEGER,          -- NULL: of no layer
  phase           TEXT NOT NULL,
  tenant          TEXT NOT NULL,
  tensor          TEXT NOT NULL,    -- what was asked for
  requested_bytes INTEGER NOT NULL,
  free_bytes      INTEGER NOT NULL, -- of the usable size, the allocator's cache given back
  allocated_bytes INTEGER NOT NULL, -- by tensors at that moment
  reserved_bytes  INTEGER NOT NULL, -- by the allocator at that moment
  PRIMARY KEY (run_id, rank_class),
  FOREIGN KEY (run_id, rank_class) REFERENCES rank_class ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Wall-clock facts, and how the answer was found: the only table in which two equal runs may differ.
CREATE TABLE provenance (
  run_id            INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
  written_at        TEXT NOT NULL,    -- UTC, ISO 8601
  foretrain_version TEXT NOT NULL,
  wall_seconds      REAL NOT NULL,    -- that the simulation took
  events            INTEGER NOT NULL  -- that it played
) STRICT;

-- A grid that was swept. The same sweep again, resumed or another share of it, is the same row.
CREATE TABLE sweep (
  sweep_id  INTEGER PRIMARY KEY,
  sweep_key TEXT NOT NULL UNIQUE, -- SHA-256 of the settings under the grid, the axes and the condition
  workload  TEXT NOT NULL,
  axes      TEXT NOT NULL,        -- JSON: {"group.key": [values], …}, the last running fastest
  condition TEXT,                 -- --where; NULL: none
  points    INTEGER NOT NULL      -- of the whole grid
) STRICT;

-- Every point of a sweep that was reached. Its figures are those of its run.
CREATE TABLE point (
  sweep_id INTEGER NOT NULL REFERENCES sweep ON DELETE CASCADE,
  number   INTEGER NOT NULL, -- place in the grid, from 0
  settings TEXT NOT NULL,    -- JSON: {"group.key": value, …}
  status   TEXT NOT NULL,    -- ran, or why it cannot run
  run_key  TEXT,             -- NULL: it did not run
  PRIMARY KEY (sweep_id, number)
) STRICT, WITHOUT ROWID;

-- Accepted baselines of foretrain check, and below them the recipe that gave each budget's.
CREATE TABLE baseline (
  budget        TEXT NOT NULL, -- group of the budgets file
  metric        TEXT NOT NULL, -- column of run without _ps or _bytes
  value         TEXT,          -- as that column has it
  model_version TEXT NOT NULL, -- results version that gave it
  reason        TEXT NOT NULL, -- why it was accepted
  PRIMARY KEY (budget, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE baseline_setting (
  budget TEXT NOT NULL,
  name   TEXT NOT NULL, -- group.key
  value  TEXT NOT NULL,
  origin TEXT NOT NULL, -- recipe, file, command line; defaults are the version's
  PRIMARY KEY (budget, name)
) STRICT, WITHOUT ROWID;

-- Predicted against measured: a row for each row of the tables that foretrain validate read. NULL: not measured, or not
-- predicted (the row did not run, or runs have no such figure).
CREATE TABLE validation (
  validation_id INTEGER NOT NULL, -- one call of foretrain validate; ascending
  table_name    TEXT NOT NULL,    -- file of the row
  id            TEXT NOT NULL,    -- of the row, unique within its table
  source        TEXT NOT NULL,    -- who measured
  set_name      TEXT NOT NULL,    -- which set the row belongs to; a last letter A, B or C is its tier of trust
  status        TEXT NOT NULL,    -- ran, or why it cannot be expressed
  run_key       TEXT,             -- of the step that was played; NULL: none was, or a collective
  measured_step_ps                    INTEGER,
  predicted_step_ps                   INTEGER, -- where memory runs out: as if it had no end
  measured_tokens_per_second_per_gpu  REAL,
  predicted_tokens_per_second_per_gpu REAL,
  measured_peak_reserved_bytes        INTEGER,
  predicted_peak_reserved_bytes       INTEGER,
  measured_peak_allocated_bytes       INTEGER,
  predicted_peak_allocated_bytes      INTEGER,
  measured_steady_allocated_bytes     INTEGER,
  predicted_steady_allocated_bytes    INTEGER,
  measured_fits                       INTEGER CHECK (measured_fits IN (0, 1)), -- 0: out of memory
  predicted_fits                      INTEGER CHECK (predicted_fits IN (0, 1, 2)), -- 2: at the edge
  measured_time_ps                    INTEGER, -- of a collective, as the next three
  predicted_time_ps                   INTEGER,
  measured_bus_bandwidth              REAL,    -- bytes/s
  predicted_bus_bandwidth             REAL,
  PRIMARY KEY (validation_id, table_name, id)
) STRICT, WITHOUT ROWID;

-- Which stage should it be? One row per configuration (its newest run).
CREATE VIEW v_stage_table AS
SELECT run_id, workload, topology, framework, gpus, micro_batch, zero_stage, verdict,
       round(step_ps / 1e9, 3) AS step_ms,
       round(step_low_ps / 1e9, 3) AS step_low_ms,
       round(step_high_ps / 1e9, 3) AS step_high_ms,
       round(compute_ps / 1e9, 3) AS compute_ms,
       round(exposed_ps / 1e9, 3) AS exposed_ms,
       round(idle_ps / 1e9, 3) AS idle_ms,
       round(network_bytes_intra / 1e9, 3) AS sent_in_node_gb,
       round(network_bytes_inter / 1e9, 3) AS sent_between_nodes_gb,
       round(tokens_per_second_per_gpu, 1) AS tokens_per_second_per_gpu,
       round(100 * model_flops_utilisation, 2) AS mfu_percent,
       round(peak_allocated_bytes / 1073741824.0, 3) AS peak_allocated_gib,
       round(peak_reserved_bytes / 1073741824.0, 3) AS peak_reserved_gib,
       round(device_used_bytes / 1073741824.0, 3) AS device_used_gib,
       round(capacity_bytes / 1073741824.0, 3) AS capacity_gib,
       round(short_by_bytes / 1073741824.0, 3) AS short_by_gib
FROM run
WHERE run_id IN (SELECT max(run_id) FROM run GROUP BY run_key)
ORDER BY workload, topology, framework, gpus, micro_batch, zero_stage, run_id;

-- How much communication hides behind compute, and how much does not?
CREATE VIEW v_overlap AS
SELECT run_id, rank_class, ranks,
       round(step_ps / 1e9, 3) AS step_ms,
       round(communication_ps / 1e9, 3) AS communication_ms,
       round((communication_ps - exposed_ps) / 1e9, 3) AS hidden_ms,
       round(exposed_ps / 1e9, 3) AS exposed_ms,
       round(100.0 * (communication_ps - exposed_ps) / nullif(communication_ps, 0), 2) AS hidden_percent
FROM rank_class
ORDER BY run_id, rank_class;

-- Where did the time go that no compute filled, and which collective did the next compute wait for? Needs a timeline.
CREATE VIEW v_exposed_by_cause AS
SELECT run_id, rank_class, cause,
       CASE WHEN cause IN ('bubble', 'host-idle') THEN 'idle' ELSE 'exposed' END AS kind,
       name AS collective,
       sum(e.repeats) AS intervals,
       round(sum((e.end_ps - e.start_ps) * e.repeats) / 1e9, 3) AS total_ms,
       round(100.0 * sum((e.end_ps - e.start_ps) * e.repeats) / step_ps, 2) AS step_percent
FROM exposure e JOIN rank_class USING (run_id, rank_class) LEFT JOIN task USING (run_id, rank_class, task_id)
GROUP BY run_id, rank_class, cause, name
ORDER BY run_id, rank_class, sum((e.end_ps - e.start_ps) * e.repeats) DESC, cause, name;

-- Who holds the memory when the most is held?
CREATE VIEW v_memory_at_peak AS
SELECT run_id, rank_class, tenant,
       round(bytes / 1073741824.0, 3) AS gib,
       round(100.0 * bytes / nullif(device_used_bytes, 0), 2) AS used_percent,
       round(unique_bytes / 1073741824.0, 3) AS unique_gib,
       step, round(at_ps / 1e9, 3) AS at_ms, task_name, layer, phase
FROM memory_peak JOIN rank_class USING (run_id, rank_class)
ORDER BY run_id, rank_class, bytes DESC, tenant;

-- Which links are busy?
CREATE VIEW v_links AS
SELECT run_id, link_class, links,
       round(bytes / 1e9, 3) AS carried_gb,
       round(busy_ps / 1e9, 3) AS busiest_busy_ms,
       round(100 * utilisation, 2) AS utilisation_percent
FROM link
ORDER BY run_id, utilisation DESC, link_class;

-- How far off is the newest validation, by source? Errors are predicted / measured - 1.
CREATE VIEW v_validation AS
SELECT source, set_name,
       count(*) AS rows_in_all,
       sum(status = 'ran') AS ran,
       round(100 * avg(abs(1.0 * predicted_step_ps / measured_step_ps - 1)), 2) AS step_error_percent,
       round(100 * avg(1.0 * predicted_step_ps / measured_step_ps - 1), 2) AS step_bias_percent,
       round(100 * avg(abs(1.0 * predicted_peak_reserved_bytes / measured_peak_reserved_bytes - 1)), 2)
         AS reserved_error_percent,
       round(100 * avg(abs(1.0 * predicted_time_ps / measured_time_ps - 1)), 2) AS collective_error_percent
FROM validation
WHERE validation_id = (SELECT max(validation_id) FROM validation)
GROUP BY source, set_name
ORDER BY source, set_name;
