CREATE TABLE alerts (
	"key" VARCHAR(160) NOT NULL,
	began_at BIGINT NOT NULL,
	told_at BIGINT,
	over_at BIGINT,
	level BIGINT NOT NULL,
	CONSTRAINT pk_alerts PRIMARY KEY ("key")
);

CREATE TABLE api_keys (
	id VARCHAR(16) NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	name TEXT NOT NULL,
	digest VARCHAR(64) NOT NULL,
	scopes VARCHAR(64) NOT NULL,
	user_id VARCHAR(36),
	created_at BIGINT NOT NULL,
	created_by VARCHAR(128) NOT NULL,
	revoked_at BIGINT,
	CONSTRAINT pk_api_keys PRIMARY KEY (id)
);

CREATE TABLE approvals (
	id VARCHAR(36) NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	turn_id VARCHAR(36) NOT NULL,
	user_id VARCHAR(36) NOT NULL,
	call_key VARCHAR(64) NOT NULL,
	tool VARCHAR(128) NOT NULL,
	fingerprint VARCHAR(64) NOT NULL,
	may_remember BOOLEAN NOT NULL,
	numbered BOOLEAN NOT NULL,
	state VARCHAR(16) NOT NULL,
	asked_at BIGINT NOT NULL,
	until BIGINT NOT NULL,
	answered_at BIGINT,
	CONSTRAINT pk_approvals PRIMARY KEY (id)
);

CREATE INDEX ix_approvals_turn_id ON approvals (turn_id);

CREATE TABLE audit (
	id INTEGER NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	at BIGINT NOT NULL,
	actor VARCHAR(128) NOT NULL,
	action VARCHAR(64) NOT NULL,
	subject VARCHAR(256) NOT NULL,
	detail TEXT NOT NULL,
	CONSTRAINT pk_audit PRIMARY KEY (id)
);

CREATE INDEX ix_audit_at ON audit (at);

CREATE TABLE blobs (
	id VARCHAR(36) NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	content BLOB NOT NULL,
	created_at BIGINT NOT NULL,
	turn_id VARCHAR(36),
	CONSTRAINT pk_blobs PRIMARY KEY (id)
);

CREATE INDEX ix_blobs_created_at ON blobs (created_at);

CREATE INDEX ix_blobs_turn_id ON blobs (turn_id);

CREATE TABLE budget_holds (
	id VARCHAR(36) NOT NULL,
	tokens BIGINT NOT NULL,
	microusd BIGINT NOT NULL,
	at BIGINT NOT NULL,
	CONSTRAINT pk_budget_holds PRIMARY KEY (id)
);

CREATE TABLE budget_use (
	tenant_id VARCHAR(64) NOT NULL,
	scope VARCHAR(16) NOT NULL,
	"key" VARCHAR(255) NOT NULL,
	day VARCHAR(10) NOT NULL,
	tokens BIGINT NOT NULL,
	microusd BIGINT NOT NULL,
	most_tokens BIGINT,
	most_microusd BIGINT,
	resets_at BIGINT,
	told BOOLEAN NOT NULL,
	at BIGINT NOT NULL,
	CONSTRAINT pk_budget_use PRIMARY KEY (tenant_id, scope, "key", day)
);

CREATE INDEX ix_budget_use_at ON budget_use (at);

CREATE TABLE channel_accounts (
	tenant_id VARCHAR(64) NOT NULL,
	channel VARCHAR(32) NOT NULL,
	account VARCHAR(64) NOT NULL,
	cursor TEXT,
	last_heard_at BIGINT,
	CONSTRAINT pk_channel_accounts PRIMARY KEY (channel, account, tenant_id)
);

CREATE TABLE chats (
	tenant_id VARCHAR(64) NOT NULL,
	channel VARCHAR(32) NOT NULL,
	account VARCHAR(64) NOT NULL,
	chat VARCHAR(128) NOT NULL,
	thread VARCHAR(128) NOT NULL,
	direct BOOLEAN NOT NULL,
	user_id VARCHAR(36) NOT NULL,
	heard_at BIGINT NOT NULL,
	CONSTRAINT pk_chats PRIMARY KEY (channel, account, chat, thread, tenant_id)
);

CREATE INDEX ix_chats_channel_account_heard_at ON chats (channel, account, heard_at);

CREATE TABLE crashes (
	work VARCHAR(64) NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	at_work SMALLINT NOT NULL,
	deaths SMALLINT NOT NULL,
	alone SMALLINT NOT NULL,
	events INTEGER NOT NULL,
	CONSTRAINT pk_crashes PRIMARY KEY (work)
);

CREATE TABLE erasures (
	id VARCHAR(36) NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	user_id VARCHAR(36) NOT NULL,
	extent VARCHAR(16) NOT NULL,
	senders TEXT NOT NULL,
	keys TEXT NOT NULL,
	lanes TEXT NOT NULL,
	inbox_id INTEGER NOT NULL,
	asked_at BIGINT NOT NULL,
	CONSTRAINT pk_erasures PRIMARY KEY (id)
);

CREATE TABLE forgotten_senders (
	tenant_id VARCHAR(64) NOT NULL,
	mark VARCHAR(64) NOT NULL,
	former_id VARCHAR(36) NOT NULL,
	at BIGINT NOT NULL,
	CONSTRAINT pk_forgotten_senders PRIMARY KEY (tenant_id, mark)
);

CREATE INDEX ix_forgotten_senders_at ON forgotten_senders (at);

CREATE TABLE groups (
	id VARCHAR(36) NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	channel VARCHAR(32) NOT NULL,
	account VARCHAR(64) NOT NULL,
	chat VARCHAR(128) NOT NULL,
	allowed BOOLEAN NOT NULL,
	every_message BOOLEAN NOT NULL,
	context SMALLINT NOT NULL,
	changed_at BIGINT NOT NULL,
	kept TEXT,
	kept_of VARCHAR(36),
	kept_at BIGINT,
	CONSTRAINT pk_groups PRIMARY KEY (id),
	CONSTRAINT uq_groups_tenant_id_channel_account_chat UNIQUE (tenant_id, channel, account, chat)
);

CREATE TABLE inbox (
	id INTEGER NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	channel VARCHAR(32) NOT NULL,
	account VARCHAR(64) NOT NULL,
	event_id VARCHAR(256) NOT NULL,
	kind VARCHAR(16) NOT NULL,
	chat VARCHAR(128) NOT NULL,
	message_id VARCHAR(128),
	sender VARCHAR(160) NOT NULL,
	user_id VARCHAR(36),
	session_key VARCHAR(512),
	payload TEXT NOT NULL,
	received_at BIGINT NOT NULL,
	admitted_at BIGINT NOT NULL,
	turn_id VARCHAR(36),
	attempts SMALLINT NOT NULL,
	outcome VARCHAR(16),
	detail TEXT,
	done_at BIGINT,
	sign VARCHAR(8),
	shard SMALLINT,
	CONSTRAINT pk_inbox PRIMARY KEY (id),
	CONSTRAINT uq_inbox_channel_account_event_id_tenant_id UNIQUE (channel, account, event_id, tenant_id)
);

CREATE INDEX ix_inbox_claimed ON inbox (turn_id) WHERE turn_id IS NOT NULL;

CREATE INDEX ix_inbox_message ON inbox (channel, account, chat, message_id);

CREATE INDEX ix_inbox_open ON inbox (session_key, id) WHERE outcome IS NULL;

CREATE INDEX ix_inbox_read_along ON inbox (channel, account, chat, outcome, id) WHERE outcome IN ('context', 'quarantined') AND payload != '';

CREATE INDEX ix_inbox_settled ON inbox (outcome, done_at) WHERE done_at IS NOT NULL;

CREATE INDEX ix_inbox_signed ON inbox (sign, id) WHERE sign IS NOT NULL;

CREATE INDEX ix_inbox_waiting ON inbox (outcome, id) WHERE outcome IS NULL AND turn_id IS NULL AND session_key IS NOT NULL;

CREATE TABLE invite_guesses (
	id INTEGER NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	sender VARCHAR(160) NOT NULL,
	at BIGINT NOT NULL,
	CONSTRAINT pk_invite_guesses PRIMARY KEY (id)
);

CREATE INDEX ix_invite_guesses_at ON invite_guesses (at);

CREATE INDEX ix_invite_guesses_sender_at ON invite_guesses (sender, at);

CREATE TABLE invites (
	id VARCHAR(36) NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	code_mac VARCHAR(64) NOT NULL,
	role VARCHAR(16) NOT NULL,
	founding BOOLEAN NOT NULL,
	created_at BIGINT NOT NULL,
	created_by VARCHAR(128) NOT NULL,
	expires_at BIGINT NOT NULL,
	used_at BIGINT,
	used_by VARCHAR(160),
	revoked_at BIGINT,
	CONSTRAINT pk_invites PRIMARY KEY (id),
	CONSTRAINT uq_invites_code_mac UNIQUE (code_mac)
);

CREATE TABLE leases (
	name VARCHAR(128) NOT NULL,
	owner VARCHAR(64),
	epoch BIGINT NOT NULL,
	until BIGINT,
	CONSTRAINT pk_leases PRIMARY KEY (name)
);

CREATE TABLE link_moves (
	tenant_id VARCHAR(64) NOT NULL,
	link_id VARCHAR(36) NOT NULL,
	kind VARCHAR(32) NOT NULL,
	"row" VARCHAR(320) NOT NULL,
	was VARCHAR(36),
	CONSTRAINT pk_link_moves PRIMARY KEY (link_id, kind, "row")
);

CREATE TABLE links (
	id VARCHAR(36) NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	user_id VARCHAR(36) NOT NULL,
	sender VARCHAR(160) NOT NULL,
	place TEXT NOT NULL,
	other_id VARCHAR(36),
	other_sender VARCHAR(160),
	other_place TEXT,
	state VARCHAR(16) NOT NULL,
	role_before VARCHAR(16),
	other_role VARCHAR(16),
	role VARCHAR(16),
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	ended_at BIGINT,
	CONSTRAINT pk_links PRIMARY KEY (id)
);

CREATE INDEX ix_links_other_id ON links (other_id);

CREATE INDEX ix_links_state_expires_at ON links (state, expires_at);

CREATE INDEX ix_links_user_id ON links (user_id);

CREATE TABLE members (
	id VARCHAR(64) NOT NULL,
	host VARCHAR(128) NOT NULL,
	role VARCHAR(16) NOT NULL,
	version VARCHAR(32) NOT NULL,
	key_mark VARCHAR(64) NOT NULL,
	joined_at BIGINT NOT NULL,
	until BIGINT NOT NULL,
	fenced BIGINT NOT NULL,
	leaving BOOLEAN NOT NULL,
	CONSTRAINT pk_members PRIMARY KEY (id)
);

CREATE TABLE model_rests (
	model VARCHAR(255) NOT NULL,
	gate VARCHAR(16) NOT NULL,
	why VARCHAR(16) NOT NULL,
	until BIGINT NOT NULL,
	strikes INTEGER NOT NULL,
	mark VARCHAR(16) NOT NULL,
	CONSTRAINT pk_model_rests PRIMARY KEY (model, gate)
);

CREATE TABLE moved_chats (
	tenant_id VARCHAR(64) NOT NULL,
	channel VARCHAR(32) NOT NULL,
	account VARCHAR(64) NOT NULL,
	old_chat VARCHAR(128) NOT NULL,
	new_chat VARCHAR(128) NOT NULL,
	moved_at BIGINT NOT NULL,
	CONSTRAINT pk_moved_chats PRIMARY KEY (channel, account, old_chat, tenant_id)
);

CREATE TABLE outbox (
	id INTEGER NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	cause VARCHAR(64) NOT NULL,
	part SMALLINT NOT NULL,
	op SMALLINT NOT NULL,
	action VARCHAR(16) NOT NULL,
	lane VARCHAR(256) NOT NULL,
	channel VARCHAR(32) NOT NULL,
	account VARCHAR(64) NOT NULL,
	chat VARCHAR(128) NOT NULL,
	thread VARCHAR(128),
	target VARCHAR(128),
	reply_to VARCHAR(128),
	rendered TEXT NOT NULL,
	markup TEXT,
	plain TEXT NOT NULL,
	secret_ref VARCHAR(128),
	answers INTEGER,
	buttons TEXT,
	media TEXT,
	idem_key VARCHAR(32) NOT NULL,
	state VARCHAR(16) NOT NULL,
	not_before BIGINT,
	attempts SMALLINT NOT NULL,
	platform_id VARCHAR(128),
	marked BOOLEAN NOT NULL,
	error TEXT,
	created_at BIGINT NOT NULL,
	done_at BIGINT,
	locale VARCHAR(35),
	CONSTRAINT pk_outbox PRIMARY KEY (id),
	CONSTRAINT uq_outbox_cause_part_op UNIQUE (cause, part, op)
);

CREATE INDEX ix_outbox_discarded ON outbox (id) WHERE state = 'discarded';

CREATE INDEX ix_outbox_failed ON outbox (state) WHERE state IN ('unknown', 'dead');

CREATE INDEX ix_outbox_open ON outbox (lane, id) WHERE state IN ('ready', 'sending');

CREATE INDEX ix_outbox_over ON outbox (done_at) WHERE done_at IS NOT NULL;

CREATE TABLE pairing_guesses (
	id INTEGER NOT NULL,
	approver VARCHAR(128) NOT NULL,
	at BIGINT NOT NULL,
	CONSTRAINT pk_pairing_guesses PRIMARY KEY (id)
);

CREATE INDEX ix_pairing_guesses_at ON pairing_guesses (at);

CREATE TABLE pairing_requests (
	id VARCHAR(36) NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	channel VARCHAR(32) NOT NULL,
	account VARCHAR(64) NOT NULL,
	sender VARCHAR(128) NOT NULL,
	display_name TEXT NOT NULL,
	chat VARCHAR(128) NOT NULL,
	locale VARCHAR(35),
	state VARCHAR(16) NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	replied_at BIGINT,
	decided_at BIGINT,
	decided_by VARCHAR(128),
	again BOOLEAN DEFAULT 0 NOT NULL,
	kept TEXT,
	CONSTRAINT pk_pairing_requests PRIMARY KEY (id)
);

CREATE INDEX ix_pairing_requests_channel_account_created_at ON pairing_requests (channel, account, created_at);

CREATE INDEX ix_pairing_requests_channel_account_sender ON pairing_requests (channel, account, sender);

CREATE INDEX ix_pairing_requests_channel_account_state ON pairing_requests (channel, account, state);

CREATE INDEX ix_pairing_requests_pending ON pairing_requests (expires_at) WHERE state = 'pending';

CREATE TABLE parked_lanes (
	tenant_id VARCHAR(64) NOT NULL,
	lane VARCHAR(256) NOT NULL,
	reason TEXT NOT NULL,
	parked_at BIGINT NOT NULL,
	CONSTRAINT pk_parked_lanes PRIMARY KEY (lane, tenant_id)
);

CREATE TABLE remembered_tools (
	tenant_id VARCHAR(64) NOT NULL,
	user_id VARCHAR(36) NOT NULL,
	tool VARCHAR(128) NOT NULL,
	since BIGINT NOT NULL,
	CONSTRAINT pk_remembered_tools PRIMARY KEY (tenant_id, user_id, tool)
);

CREATE TABLE sessions (
	id VARCHAR(36) NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	"key" VARCHAR(512) NOT NULL,
	generation INTEGER NOT NULL,
	mode VARCHAR(16) NOT NULL,
	title TEXT,
	created_at BIGINT NOT NULL,
	continues_id VARCHAR(36),
	continues_seq INTEGER,
	CONSTRAINT pk_sessions PRIMARY KEY (id),
	CONSTRAINT uq_sessions_tenant_id_key_generation UNIQUE (tenant_id, "key", generation)
);

CREATE INDEX ix_sessions_continues ON sessions (continues_id) WHERE continues_id IS NOT NULL;

CREATE TABLE shards (
	shard SMALLINT NOT NULL,
	owner VARCHAR(64),
	epoch BIGINT NOT NULL,
	until BIGINT,
	CONSTRAINT pk_shards PRIMARY KEY (shard)
);

CREATE TABLE usage (
	id INTEGER NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	user_id VARCHAR(36) NOT NULL,
	session_id VARCHAR(36) NOT NULL,
	turn_id VARCHAR(36) NOT NULL,
	model VARCHAR(128) NOT NULL,
	input_tokens INTEGER,
	output_tokens INTEGER,
	cache_read_tokens INTEGER,
	cache_write_tokens INTEGER,
	at BIGINT NOT NULL,
	step SMALLINT NOT NULL,
	discarded SMALLINT DEFAULT '0' NOT NULL,
	estimated BOOLEAN DEFAULT 0 NOT NULL,
	cost_microusd BIGINT,
	CONSTRAINT pk_usage PRIMARY KEY (id),
	CONSTRAINT uq_usage_turn_id_step_discarded UNIQUE (turn_id, step, discarded)
);

CREATE INDEX ix_usage_at ON usage (at);

CREATE INDEX ix_usage_user_id_at ON usage (user_id, at);

CREATE TABLE usage_days (
	tenant_id VARCHAR(64) NOT NULL,
	day INTEGER NOT NULL,
	user_id VARCHAR(36) NOT NULL,
	model VARCHAR(128) NOT NULL,
	calls BIGINT NOT NULL,
	input_tokens BIGINT,
	output_tokens BIGINT,
	cache_read_tokens BIGINT,
	cache_write_tokens BIGINT,
	discarded BIGINT NOT NULL,
	estimated BIGINT NOT NULL,
	cost_microusd BIGINT,
	unpriced BIGINT NOT NULL,
	CONSTRAINT pk_usage_days PRIMARY KEY (tenant_id, day, user_id, model)
);

CREATE INDEX ix_usage_days_day ON usage_days (day);

CREATE TABLE usage_totals (
	tenant_id VARCHAR(64) NOT NULL,
	day INTEGER NOT NULL,
	calls BIGINT NOT NULL,
	tokens BIGINT NOT NULL,
	cost_microusd BIGINT,
	CONSTRAINT pk_usage_totals PRIMARY KEY (tenant_id, day)
);

CREATE TABLE users (
	id VARCHAR(36) NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	role VARCHAR(16) NOT NULL,
	display_name TEXT NOT NULL,
	locale VARCHAR(35),
	timezone VARCHAR(64) NOT NULL,
	week_start SMALLINT NOT NULL,
	created_at BIGINT NOT NULL,
	zone_from VARCHAR(8) DEFAULT 'nobody' NOT NULL,
	joined VARCHAR(36),
	model VARCHAR(128),
	CONSTRAINT pk_users PRIMARY KEY (id)
);

CREATE TABLE web_devices (
	tenant_id VARCHAR(64) NOT NULL,
	chat VARCHAR(128) NOT NULL,
	device VARCHAR(16) NOT NULL,
	browser TEXT NOT NULL,
	came_at BIGINT NOT NULL,
	seen_at BIGINT NOT NULL,
	out_at BIGINT,
	CONSTRAINT pk_web_devices PRIMARY KEY (tenant_id, chat, device)
);

CREATE INDEX ix_web_devices_seen_at ON web_devices (seen_at);

CREATE TABLE credentials (
	id INTEGER NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	user_id VARCHAR(36) NOT NULL,
	provider VARCHAR(32) NOT NULL,
	kind VARCHAR(8) NOT NULL,
	sealed TEXT NOT NULL,
	connected_at BIGINT NOT NULL,
	CONSTRAINT pk_credentials PRIMARY KEY (id),
	CONSTRAINT uq_credentials_tenant_id_user_id_provider UNIQUE (tenant_id, user_id, provider),
	CONSTRAINT fk_credentials_user_id FOREIGN KEY(user_id) REFERENCES users (id)
);

CREATE TABLE events (
	session_id VARCHAR(36) NOT NULL,
	seq INTEGER NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	turn_id VARCHAR(36) NOT NULL,
	step SMALLINT NOT NULL,
	call_key VARCHAR(64),
	kind VARCHAR(32) NOT NULL,
	version SMALLINT NOT NULL,
	payload TEXT NOT NULL,
	at BIGINT NOT NULL,
	CONSTRAINT pk_events PRIMARY KEY (session_id, seq),
	CONSTRAINT uq_events_call_key_kind UNIQUE (call_key, kind),
	CONSTRAINT fk_events_session_id FOREIGN KEY(session_id) REFERENCES sessions (id)
);

CREATE INDEX ix_events_turn_id ON events (turn_id);

CREATE TABLE grants (
	tenant_id VARCHAR(64) NOT NULL,
	user_id VARCHAR(36) NOT NULL,
	channel VARCHAR(32) NOT NULL,
	account VARCHAR(64) NOT NULL,
	granted_by VARCHAR(128) NOT NULL,
	granted_at BIGINT NOT NULL,
	CONSTRAINT pk_grants PRIMARY KEY (user_id, channel, account),
	CONSTRAINT fk_grants_user_id FOREIGN KEY(user_id) REFERENCES users (id)
);

CREATE TABLE identities (
	tenant_id VARCHAR(64) NOT NULL,
	channel VARCHAR(32) NOT NULL,
	scope VARCHAR(64) NOT NULL,
	sender VARCHAR(128) NOT NULL,
	user_id VARCHAR(36) NOT NULL,
	linked_at BIGINT NOT NULL,
	CONSTRAINT pk_identities PRIMARY KEY (tenant_id, channel, scope, sender),
	CONSTRAINT fk_identities_user_id FOREIGN KEY(user_id) REFERENCES users (id)
);

CREATE INDEX ix_identities_user_id ON identities (user_id);

CREATE TABLE oauth_flows (
	state_hash VARCHAR(64) NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	user_id VARCHAR(36) NOT NULL,
	provider VARCHAR(32) NOT NULL,
	sealed TEXT NOT NULL,
	ends_at BIGINT NOT NULL,
	CONSTRAINT pk_oauth_flows PRIMARY KEY (state_hash),
	CONSTRAINT uq_oauth_flows_tenant_id_user_id_provider UNIQUE (tenant_id, user_id, provider),
	CONSTRAINT fk_oauth_flows_user_id FOREIGN KEY(user_id) REFERENCES users (id)
);

CREATE INDEX ix_oauth_flows_ends_at ON oauth_flows (ends_at);

CREATE TABLE reply_routes (
	inbox_id INTEGER NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	kind VARCHAR(32) NOT NULL,
	token TEXT NOT NULL,
	expires_at BIGINT NOT NULL,
	uses_left INTEGER NOT NULL,
	CONSTRAINT pk_reply_routes PRIMARY KEY (inbox_id),
	CONSTRAINT fk_reply_routes_inbox_id FOREIGN KEY(inbox_id) REFERENCES inbox (id)
);

CREATE TABLE summaries (
	session_id VARCHAR(36) NOT NULL,
	user_id VARCHAR(36) NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	notes TEXT NOT NULL,
	turn_id VARCHAR(36) NOT NULL,
	step SMALLINT NOT NULL,
	condensed INTEGER NOT NULL,
	left_out INTEGER NOT NULL,
	kept_at BIGINT NOT NULL,
	CONSTRAINT pk_summaries PRIMARY KEY (session_id, user_id),
	CONSTRAINT fk_summaries_session_id FOREIGN KEY(session_id) REFERENCES sessions (id)
);

CREATE INDEX ix_summaries_kept_at ON summaries (kept_at);

CREATE TABLE turns (
	id VARCHAR(36) NOT NULL,
	tenant_id VARCHAR(64) NOT NULL,
	session_id VARCHAR(36) NOT NULL,
	user_id VARCHAR(36) NOT NULL,
	kind VARCHAR(16) NOT NULL,
	address TEXT NOT NULL,
	reply_to VARCHAR(128),
	started_at BIGINT NOT NULL,
	attempts SMALLINT NOT NULL,
	end_reason VARCHAR(32),
	ended_at BIGINT,
	parked_at BIGINT,
	CONSTRAINT pk_turns PRIMARY KEY (id),
	CONSTRAINT fk_turns_session_id FOREIGN KEY(session_id) REFERENCES sessions (id)
);

CREATE INDEX ix_turns_ended ON turns (ended_at) WHERE ended_at IS NOT NULL;

CREATE INDEX ix_turns_open ON turns (end_reason, session_id, id) WHERE end_reason IS NULL;

CREATE INDEX ix_turns_session_id ON turns (session_id);

CREATE INDEX ix_turns_user_id ON turns (user_id);

CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
