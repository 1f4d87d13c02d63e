-- insert
insert into "sandbox_execs" ("seq", "exec_id", "tenant", "actor", "project_id", "task_id", "conversation_id", "skill_id", "skill_digest", "user_id", "agent_id", "kind", "sandbox_type", "image", "image_digest", "cmd", "args", "cwd", "env_keys", "policy_snapshot", "artifacts_path", "idempotency_key", "request_hash", "plan_hash", "created_at", "status", "exit_code", "signal", "oom", "error_reason", "started_at", "queue_ms", "start_mode", "skill_version", "skill_source", "ended_at", "duration_ms", "stdout_truncated", "stderr_truncated", "artifacts_truncated", "cpu_ms", "peak_memory_bytes", "output_error", "effects", "files_removed_at", "files_removed_reason", "files_removed_by") values ((select coalesce(max(seq) + 1, ?) from sandbox_execs where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
insert into commands_to_index (seq) values (last_insert_rowid());
insert into "project_contents" ("tenant", "sha256", "project_id") values (?, ?, ?) on conflict do nothing;

-- insertRunning
insert into "sandbox_execs" ("seq", "exec_id", "tenant", "actor", "project_id", "task_id", "conversation_id", "skill_id", "skill_digest", "user_id", "agent_id", "kind", "sandbox_type", "image", "image_digest", "cmd", "args", "cwd", "env_keys", "policy_snapshot", "artifacts_path", "idempotency_key", "request_hash", "plan_hash", "created_at", "status", "exit_code", "signal", "oom", "error_reason", "started_at", "queue_ms", "start_mode", "skill_version", "skill_source", "ended_at", "duration_ms", "stdout_truncated", "stderr_truncated", "artifacts_truncated", "cpu_ms", "peak_memory_bytes", "output_error", "effects", "files_removed_at", "files_removed_reason", "files_removed_by") values ((select coalesce(max(seq) + 1, ?) from sandbox_execs where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
insert into commands_to_index (seq) values (last_insert_rowid());

-- markRunning
update "sandbox_execs" set "status" = ?, "started_at" = ?, "queue_ms" = ?, "start_mode" = ? where "exec_id" = ? and "status" in (?);

-- finish
update "sandbox_execs" set "status" = ?, "exit_code" = ?, "signal" = ?, "oom" = ?, "error_reason" = ?, "ended_at" = ?, "duration_ms" = ?, "stdout_truncated" = ?, "stderr_truncated" = ?, "artifacts_truncated" = ?, "cpu_ms" = ?, "peak_memory_bytes" = ?, "output_error" = ?, "effects" = ? where "exec_id" = ? and "status" in (?);
insert into "sandbox_exec_inputs" ("exec_id", "ordinal", "path", "size", "sha256", "secret") values (?, ?, ?, ?, ?, ?);
insert into "sandbox_exec_artifacts" ("exec_id", "ordinal", "path", "kind", "size", "sha256", "media_type", "dropped", "path_base64") values (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- find
select * from "sandbox_execs" where "exec_id" = ?;

-- findByIdempotencyKey
select * from "sandbox_execs" where "tenant" = ? and "idempotency_key" = ?;

-- unfinished
select * from "sandbox_execs" where "status" in (?, ?, ?) order by "seq";
