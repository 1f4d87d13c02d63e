-- list
select "sandbox_execs".* from "sandbox_execs" where "sandbox_execs"."tenant" = ? and sandbox_execs.seq < ? order by sandbox_execs.seq desc limit ?;

-- list of a task
select "sandbox_execs".* from "sandbox_execs" where ("sandbox_execs"."tenant" = ? and "sandbox_execs"."task_id" = ? and +"sandbox_execs"."project_id" = ? and +"sandbox_execs"."skill_id" = ? and +"sandbox_execs"."actor" = ? and +"sandbox_execs"."status" = ?) and (sandbox_execs.seq >= ? and sandbox_execs.seq < ?) order by sandbox_execs.seq desc limit ?;

-- list of a project
select "sandbox_execs".* from "sandbox_execs" where ("sandbox_execs"."tenant" = ? and "sandbox_execs"."project_id" = ? and +"sandbox_execs"."skill_id" = ? and +"sandbox_execs"."actor" = ? and "sandbox_execs"."status" = ?) and (sandbox_execs.seq >= ? and sandbox_execs.seq < ?) order by sandbox_execs.seq desc limit ?;

-- list of what waits
select "sandbox_execs".* from "sandbox_execs" where ("sandbox_execs"."tenant" = ? and +"sandbox_execs"."project_id" = ? and +"sandbox_execs"."skill_id" = ? and +"sandbox_execs"."actor" = ? and "sandbox_execs"."status" = ?) and (sandbox_execs.seq >= ? and sandbox_execs.seq < ?) order by sandbox_execs.seq desc limit ?;

-- list of a text
select "sandbox_execs".* from "sandbox_exec_commands" cross join "sandbox_execs" where sandbox_exec_commands match ? and "sandbox_execs"."seq" = "sandbox_exec_commands"."rowid" and (+"sandbox_execs"."tenant" = ? and +"sandbox_execs"."project_id" = ? and +"sandbox_execs"."skill_id" = ? and +"sandbox_execs"."actor" = ? and +"sandbox_execs"."status" = ?) and (sandbox_exec_commands.rowid >= ? and sandbox_exec_commands.rowid < ?) order by sandbox_exec_commands.rowid desc limit ?;

-- list of a text in a task
select "sandbox_execs".* from "sandbox_execs" cross join "sandbox_exec_commands" where sandbox_exec_commands match ? and "sandbox_execs"."seq" = "sandbox_exec_commands"."rowid" and ("sandbox_execs"."tenant" = ? and "sandbox_execs"."task_id" = ?) and sandbox_execs.seq < ? order by sandbox_execs.seq desc limit ?;

-- find
select * from "sandbox_execs" where "exec_id" = ? and "tenant" = ?;

-- artifacts
select * from "sandbox_exec_artifacts" where "exec_id" = ? and "kind" not in (?, ?) and "ordinal" > ? order by "ordinal" limit ?;

-- findArtifact
select * from "sandbox_exec_artifacts" where "exec_id" = ? and "path" = ? and "path_base64" is null;

-- findArtifact by bytes
select * from "sandbox_exec_artifacts" where "exec_id" = ? and "path_base64" = ?;

-- findInput
select * from "sandbox_exec_inputs" where "exec_id" = ? and "path" = ?;

-- inputs
select * from "sandbox_exec_inputs" where "exec_id" = ? and "ordinal" > ? order by "ordinal" limit ?;

-- export
select "sandbox_execs"."seq", json_object('exec_id', "sandbox_execs"."exec_id", 'tenant', "sandbox_execs"."tenant", 'actor', "sandbox_execs"."actor", 'project_id', "sandbox_execs"."project_id", 'task_id', "sandbox_execs"."task_id", 'conversation_id', "sandbox_execs"."conversation_id", 'skill_id', "sandbox_execs"."skill_id", 'kind', "sandbox_execs"."kind", 'sandbox_type', "sandbox_execs"."sandbox_type", 'image', "sandbox_execs"."image", 'image_digest', "sandbox_execs"."image_digest", 'cmd', "sandbox_execs"."cmd", 'args', json("sandbox_execs"."args"), 'cwd', "sandbox_execs"."cwd", 'env_keys', json("sandbox_execs"."env_keys"), 'policy_snapshot', json("sandbox_execs"."policy_snapshot"), 'artifacts_path', "sandbox_execs"."artifacts_path", 'idempotency_key', "sandbox_execs"."idempotency_key", 'request_hash', "sandbox_execs"."request_hash", 'plan_hash', "sandbox_execs"."plan_hash", 'status', "sandbox_execs"."status", 'exit_code', "sandbox_execs"."exit_code", 'signal', "sandbox_execs"."signal", 'oom', json(iif("sandbox_execs"."oom", 'true', 'false')), 'error_reason', "sandbox_execs"."error_reason", 'created_at', "sandbox_execs"."created_at", 'started_at', "sandbox_execs"."started_at", 'queue_ms', "sandbox_execs"."queue_ms", 'start_mode', "sandbox_execs"."start_mode", 'ended_at', "sandbox_execs"."ended_at", 'duration_ms', "sandbox_execs"."duration_ms", 'stdout_truncated', json(iif("sandbox_execs"."stdout_truncated", 'true', 'false')), 'stderr_truncated', json(iif("sandbox_execs"."stderr_truncated", 'true', 'false')), 'artifacts_truncated', json(iif("sandbox_execs"."artifacts_truncated", 'true', 'false')), 'cpu_ms', "sandbox_execs"."cpu_ms", 'peak_memory_bytes', "sandbox_execs"."peak_memory_bytes", 'files_removed_at', "sandbox_execs"."files_removed_at", 'files_removed_reason', "sandbox_execs"."files_removed_reason", 'files_removed_by', "sandbox_execs"."files_removed_by") || char(10) as "line" from "sandbox_execs" where ("sandbox_execs"."tenant" = ? and "sandbox_execs"."project_id" = ? and +"sandbox_execs"."skill_id" = ? and +"sandbox_execs"."actor" = ? and "sandbox_execs"."status" = ?) and (sandbox_execs.seq >= ? and sandbox_execs.seq < ?) order by sandbox_execs.seq asc limit ?;

-- export as CSV

-- stats
select count(*) as "execs", min(duration_ms) as "min", percentile_disc(duration_ms, 0.5) as "p50", percentile_disc(duration_ms, 0.95) as "p95", max(duration_ms) as "max", avg(duration_ms) as "mean" from "sandbox_execs" where ("sandbox_execs"."tenant" = ? and +"sandbox_execs"."status" = ?) and 1 = 1;
select count(*) as "execs", min(duration_ms) as "min", percentile_disc(duration_ms, 0.5) as "p50", percentile_disc(duration_ms, 0.95) as "p95", max(duration_ms) as "max", avg(duration_ms) as "mean", +sandbox_execs.status as "key" from "sandbox_execs" where ("sandbox_execs"."tenant" = ? and +"sandbox_execs"."status" = ?) and 1 = 1 group by +sandbox_execs.status order by count(*) desc, +sandbox_execs.status limit ?;
select count(*) as "execs", min(duration_ms) as "min", percentile_disc(duration_ms, 0.5) as "p50", percentile_disc(duration_ms, 0.95) as "p95", max(duration_ms) as "max", avg(duration_ms) as "mean", date(sandbox_execs.seq / 1000000, 'unixepoch') as "key" from "sandbox_execs" where ("sandbox_execs"."tenant" = ? and +"sandbox_execs"."status" = ?) and 1 = 1 group by date(sandbox_execs.seq / 1000000, 'unixepoch') order by date(sandbox_execs.seq / 1000000, 'unixepoch') desc, date(sandbox_execs.seq / 1000000, 'unixepoch') limit ?;
select count(*) as "execs", min(duration_ms) as "min", percentile_disc(duration_ms, 0.5) as "p50", percentile_disc(duration_ms, 0.95) as "p95", max(duration_ms) as "max", avg(duration_ms) as "mean", +sandbox_execs.skill_id as "key" from "sandbox_execs" where ("sandbox_execs"."tenant" = ? and +"sandbox_execs"."status" = ?) and 1 = 1 group by +sandbox_execs.skill_id order by count(*) desc, +sandbox_execs.skill_id limit ?;
select count(*) as "execs", min(duration_ms) as "min", percentile_disc(duration_ms, 0.5) as "p50", percentile_disc(duration_ms, 0.95) as "p95", max(duration_ms) as "max", avg(duration_ms) as "mean", +sandbox_execs.actor as "key" from "sandbox_execs" where ("sandbox_execs"."tenant" = ? and +"sandbox_execs"."status" = ?) and 1 = 1 group by +sandbox_execs.actor order by count(*) desc, +sandbox_execs.actor limit ?;

-- stats of a project
select count(*) as "execs", min(duration_ms) as "min", percentile_disc(duration_ms, 0.5) as "p50", percentile_disc(duration_ms, 0.95) as "p95", max(duration_ms) as "max", avg(duration_ms) as "mean" from "sandbox_execs" where ("sandbox_execs"."tenant" = ? and "sandbox_execs"."project_id" = ? and +"sandbox_execs"."skill_id" = ? and +"sandbox_execs"."actor" = ? and "sandbox_execs"."status" = ?) and (sandbox_execs.seq >= ? and sandbox_execs.seq < ?);
select count(*) as "execs", min(duration_ms) as "min", percentile_disc(duration_ms, 0.5) as "p50", percentile_disc(duration_ms, 0.95) as "p95", max(duration_ms) as "max", avg(duration_ms) as "mean", +sandbox_execs.status as "key" from "sandbox_execs" where ("sandbox_execs"."tenant" = ? and "sandbox_execs"."project_id" = ? and +"sandbox_execs"."skill_id" = ? and +"sandbox_execs"."actor" = ? and "sandbox_execs"."status" = ?) and (sandbox_execs.seq >= ? and sandbox_execs.seq < ?) group by +sandbox_execs.status order by count(*) desc, +sandbox_execs.status limit ?;
select count(*) as "execs", min(duration_ms) as "min", percentile_disc(duration_ms, 0.5) as "p50", percentile_disc(duration_ms, 0.95) as "p95", max(duration_ms) as "max", avg(duration_ms) as "mean", date(sandbox_execs.seq / 1000000, 'unixepoch') as "key" from "sandbox_execs" where ("sandbox_execs"."tenant" = ? and "sandbox_execs"."project_id" = ? and +"sandbox_execs"."skill_id" = ? and +"sandbox_execs"."actor" = ? and "sandbox_execs"."status" = ?) and (sandbox_execs.seq >= ? and sandbox_execs.seq < ?) group by date(sandbox_execs.seq / 1000000, 'unixepoch') order by date(sandbox_execs.seq / 1000000, 'unixepoch') desc, date(sandbox_execs.seq / 1000000, 'unixepoch') limit ?;
select count(*) as "execs", min(duration_ms) as "min", percentile_disc(duration_ms, 0.5) as "p50", percentile_disc(duration_ms, 0.95) as "p95", max(duration_ms) as "max", avg(duration_ms) as "mean", +sandbox_execs.skill_id as "key" from "sandbox_execs" where ("sandbox_execs"."tenant" = ? and "sandbox_execs"."project_id" = ? and +"sandbox_execs"."skill_id" = ? and +"sandbox_execs"."actor" = ? and "sandbox_execs"."status" = ?) and (sandbox_execs.seq >= ? and sandbox_execs.seq < ?) group by +sandbox_execs.skill_id order by count(*) desc, +sandbox_execs.skill_id limit ?;
select count(*) as "execs", min(duration_ms) as "min", percentile_disc(duration_ms, 0.5) as "p50", percentile_disc(duration_ms, 0.95) as "p95", max(duration_ms) as "max", avg(duration_ms) as "mean", +sandbox_execs.actor as "key" from "sandbox_execs" where ("sandbox_execs"."tenant" = ? and "sandbox_execs"."project_id" = ? and +"sandbox_execs"."skill_id" = ? and +"sandbox_execs"."actor" = ? and "sandbox_execs"."status" = ?) and (sandbox_execs.seq >= ? and sandbox_execs.seq < ?) group by +sandbox_execs.actor order by count(*) desc, +sandbox_execs.actor limit ?;
