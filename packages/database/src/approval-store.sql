-- insert
insert into "sandbox_execs" ("seq", "exec_id", "tenant", "actor", "project_id", "task_id", "conversation_id", "skill_id", "skill_digest", "user_id", "agent_id", "kind", "sandbox_type", "image", "image_digest", "cmd", "args", "cwd", "env_keys", "policy_snapshot", "artifacts_path", "idempotency_key", "request_hash", "plan_hash", "created_at", "status", "exit_code", "signal", "oom", "error_reason", "started_at", "queue_ms", "start_mode", "skill_version", "skill_source", "ended_at", "duration_ms", "stdout_truncated", "stderr_truncated", "artifacts_truncated", "cpu_ms", "peak_memory_bytes", "output_error", "effects", "files_removed_at", "files_removed_reason", "files_removed_by") values ((select coalesce(max(seq) + 1, ?) from sandbox_execs where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
insert into commands_to_index (seq) values (last_insert_rowid());
insert into "project_contents" ("tenant", "sha256", "project_id") values (?, ?, ?) on conflict do nothing;
insert into "approvals" ("seq", "exec_id", "tenant", "project_id", "skill_id", "requested_by", "requested_at", "expires_at", "needed_because", "risk_level", "plan_hash", "state", "decided_by", "decided_through", "decided_at", "decision_reason", "shown") values ((select coalesce(max(seq) + 1, ?) from approvals where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
insert into "security_events" ("seq", "event_id", "type", "tenant", "actor", "address", "subject", "at", "count", "last_at", "details") values ((select coalesce(max(seq) + 1, ?) from security_events where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- insert with news of it
insert into "sandbox_execs" ("seq", "exec_id", "tenant", "actor", "project_id", "task_id", "conversation_id", "skill_id", "skill_digest", "user_id", "agent_id", "kind", "sandbox_type", "image", "image_digest", "cmd", "args", "cwd", "env_keys", "policy_snapshot", "artifacts_path", "idempotency_key", "request_hash", "plan_hash", "created_at", "status", "exit_code", "signal", "oom", "error_reason", "started_at", "queue_ms", "start_mode", "skill_version", "skill_source", "ended_at", "duration_ms", "stdout_truncated", "stderr_truncated", "artifacts_truncated", "cpu_ms", "peak_memory_bytes", "output_error", "effects", "files_removed_at", "files_removed_reason", "files_removed_by") values ((select coalesce(max(seq) + 1, ?) from sandbox_execs where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
insert into commands_to_index (seq) values (last_insert_rowid());
insert into "approvals" ("seq", "exec_id", "tenant", "project_id", "skill_id", "requested_by", "requested_at", "expires_at", "needed_because", "risk_level", "plan_hash", "state", "decided_by", "decided_through", "decided_at", "decision_reason", "shown") values ((select coalesce(max(seq) + 1, ?) from approvals where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
insert into "security_events" ("seq", "event_id", "type", "tenant", "actor", "address", "subject", "at", "count", "last_at", "details") values ((select coalesce(max(seq) + 1, ?) from security_events where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
insert into "webhook_deliveries" ("exec_id", "created_at", "delivery", "type", "tries", "next_at") values (?, ?, ?, ?, ?, ?);

-- settle as approved
update "approvals" set "state" = ?, "decided_by" = ?, "decided_through" = ?, "decided_at" = ?, "decision_reason" = ? where "exec_id" = ? and "state" = ? and "expires_at" > ?;
update "sandbox_execs" set "status" = ? where "exec_id" = ? and "status" = ?;
insert into "security_events" ("seq", "event_id", "type", "tenant", "actor", "address", "subject", "at", "count", "last_at", "details") values ((select coalesce(max(seq) + 1, ?) from security_events where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- settle as withdrawn
update "approvals" set "state" = ?, "decided_by" = ?, "decided_through" = ?, "decided_at" = ?, "decision_reason" = ? where "exec_id" = ? and "state" = ?;
update "sandbox_execs" set "status" = ?, "exit_code" = ?, "signal" = ?, "oom" = ?, "error_reason" = ?, "ended_at" = ?, "duration_ms" = ?, "stdout_truncated" = ?, "stderr_truncated" = ?, "artifacts_truncated" = ?, "cpu_ms" = ?, "peak_memory_bytes" = ?, "output_error" = ?, "effects" = ? where "exec_id" = ? and "status" = ?;
insert into "security_events" ("seq", "event_id", "type", "tenant", "actor", "address", "subject", "at", "count", "last_at", "details") values ((select coalesce(max(seq) + 1, ?) from security_events where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- makeVoid
update "approvals" set "state" = ? where "exec_id" = ? and "state" in (?, ?);
insert into "security_events" ("seq", "event_id", "type", "tenant", "actor", "address", "subject", "at", "count", "last_at", "details") values ((select coalesce(max(seq) + 1, ?) from security_events where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- find
select * from "approvals" where "exec_id" = ? and "tenant" = ?;

-- list
select "seq", "exec_id", "tenant", "project_id", "skill_id", "requested_by", "requested_at", "expires_at", "needed_because", "risk_level", "plan_hash", "state", "decided_by", "decided_through", "decided_at", "decision_reason" from "approvals" where "tenant" = ? order by "seq" desc limit ?;

-- list of a state
select "seq", "exec_id", "tenant", "project_id", "skill_id", "requested_by", "requested_at", "expires_at", "needed_because", "risk_level", "plan_hash", "state", "decided_by", "decided_through", "decided_at", "decision_reason" from "approvals" where "tenant" = ? and "state" = ? and "seq" < ? order by "seq" desc limit ?;

-- pending
select "seq", "exec_id", "tenant", "project_id", "skill_id", "requested_by", "requested_at", "expires_at", "needed_because", "risk_level", "plan_hash", "state", "decided_by", "decided_through", "decided_at", "decision_reason" from "approvals" where "state" = ? order by "seq";

-- givenInVain
select "approvals"."exec_id", "approvals"."tenant", "execs"."error_reason" from "approvals" inner join "sandbox_execs" as "execs" on "execs"."exec_id" = "approvals"."exec_id" where "approvals"."state" = ? and "execs"."status" in (?, ?) and "execs"."started_at" is null order by "approvals"."seq";
