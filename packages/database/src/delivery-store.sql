-- pending
select "told"."delivery", "told"."type", "told"."tries", "told"."next_at", "approvals"."seq", "approvals"."exec_id", "approvals"."tenant", "approvals"."project_id", "approvals"."skill_id", "approvals"."requested_by", "approvals"."requested_at", "approvals"."expires_at", "approvals"."needed_because", "approvals"."risk_level", "approvals"."plan_hash", "approvals"."state", "approvals"."decided_by", "approvals"."decided_through", "approvals"."decided_at", "approvals"."decision_reason" from "webhook_deliveries" as "told" inner join "approvals" on "approvals"."exec_id" = "told"."exec_id" order by "told"."created_at", "told"."delivery" limit ?;

-- pending of a tenant
select "told"."delivery", "told"."type", "told"."tries", "told"."next_at", "approvals"."seq", "approvals"."exec_id", "approvals"."tenant", "approvals"."project_id", "approvals"."skill_id", "approvals"."requested_by", "approvals"."requested_at", "approvals"."expires_at", "approvals"."needed_because", "approvals"."risk_level", "approvals"."plan_hash", "approvals"."state", "approvals"."decided_by", "approvals"."decided_through", "approvals"."decided_at", "approvals"."decision_reason" from "webhook_deliveries" as "told" inner join "approvals" on "approvals"."exec_id" = "told"."exec_id" where "approvals"."tenant" = ? order by "told"."created_at", "told"."delivery" limit ?;

-- tenants
select distinct "approvals"."tenant" from "webhook_deliveries" as "told" inner join "approvals" on "approvals"."exec_id" = "told"."exec_id" order by "approvals"."tenant";

-- postpone
update "webhook_deliveries" set "tries" = ?, "next_at" = ? where "delivery" = ?;

-- remove
delete from "webhook_deliveries" where "delivery" = ?;

-- dropOlder
delete from "webhook_deliveries" where "created_at" < ?;
