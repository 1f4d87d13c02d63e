-- put
insert into "agent_skill_registry" ("id", "tenant", "agent_id", "skill_id", "user_id", "name", "description", "created_at", "updated_at") values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (tenant, agent_id, coalesce(user_id, ''), skill_id) do update set "name" = ?, "description" = ?, "updated_at" = ?;

-- remove
delete from "agent_skill_registry" where "tenant" = ? and "agent_id" = ? and coalesce(user_id, '') = ? and "skill_id" = ?;

-- removeUser
delete from "agent_skill_registry" where "tenant" = ? and "agent_id" = ? and coalesce(user_id, '') = ?;

-- list
select * from "agent_skill_registry" where "tenant" = ? and "agent_id" = ? and coalesce(user_id, '') in ('', ?) order by "skill_id", "user_id";
