-- insert
insert into "sandbox_execs" ("exec_id", "project_id", "task_id", "conversation_id", "skill_id", "kind", "image", "image_digest", "cmd", "args", "cwd", "env_keys", "policy_snapshot", "artifacts_path", "idempotency_key", "request_hash", "plan_hash", "created_at", "status", "exit_code", "signal", "oom", "error_reason", "started_at", "ended_at", "duration_ms", "stdout_truncated", "stderr_truncated", "artifacts_truncated", "cpu_ms", "peak_memory_bytes") values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- markRunning
update "sandbox_execs" set "status" = ?, "started_at" = ? where "exec_id" = ? and "status" in (?, ?);

-- finish
update "sandbox_execs" set "status" = ?, "exit_code" = ?, "signal" = ?, "oom" = ?, "error_reason" = ?, "ended_at" = ?, "duration_ms" = ?, "stdout_truncated" = ?, "stderr_truncated" = ?, "artifacts_truncated" = ?, "cpu_ms" = ?, "peak_memory_bytes" = ? where "exec_id" = ? and "status" in (?, ?, ?);

-- find
select * from "sandbox_execs" where "exec_id" = ?;

-- findByIdempotencyKey
select * from "sandbox_execs" where "idempotency_key" = ?;

-- unfinished
select * from "sandbox_execs" where "status" in (?, ?, ?) order by "created_at";
