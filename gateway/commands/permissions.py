"""`/permissions`: the tools that run without a question, the person's rules in this conversation, and its mode.

A person sets rules for their own turns. An owner sets the mode, which holds for everyone in the chat.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial

from agent.catalogue import escape
from agent.permission_rules import BadRule, Mode, Source, Verdict, parse_rule
from agent.wellformed import clean
from channels.base import CommandOption
from gateway.commands.base import Changed, Command, HelpGroup, Invocation, Reply, Write
from gateway.store import approvals, journal, session_rules
from gateway.store.engine import Connection
from gateway.store.session_rules import SessionRule

ALL = "all"
SHOWN_CHARS = 64
OF_SERVERS = "mcp__"
"""Begins the names of tools of MCP servers, which come and go."""
VERDICTS = {verdict.value: verdict for verdict in (Verdict.ALLOW, Verdict.DENY, Verdict.ASK)}
MODES = {mode.value: mode for mode in Mode}


@dataclass(frozen=True, slots=True)
class ListedRule:
    """One line of the list: an "always" about a tool, or a rule of this conversation."""

    tool: str  # the tool of an "always", or the rule's text
    rule: SessionRule | None = None  # None: an "always"

    @property
    def key(self) -> str:
        """Return the key of its text."""
        return f"commands.permissions_{'always' if self.rule is None else self.rule.verdict.value}"


async def permissions(asked: Invocation) -> Reply | Write:
    """List rules and mode, set one of them, or take rules back."""
    words = clean(asked.arguments)
    verb, _, text = words.partition(" ")
    if (verdict := VERDICTS.get(verb.lower())) is not None and text:
        return _set_rule(asked, verdict, text)
    if (mode := MODES.get(words.lower())) is not None:
        return _set_mode(asked, mode)
    if words:
        return Write(_take_back, asked, words)
    return Reply(_list_text(asked, await asked.store.read(partial(_find_rules, asked=asked), lasting=True)))


def _find_rules(connection: Connection, asked: Invocation) -> Sequence[ListedRule]:
    who = asked.principal
    always = approvals.list_remembered(connection, who.tenant, who.user_id)
    rules = session_rules.find(connection, asked.session.state.id, who.user_id)
    return [*map(ListedRule, always), *(ListedRule(rule.rule, rule) for rule in rules)]


def _list_text(asked: Invocation, listed: Sequence[ListedRule]) -> str:
    mode = asked.session.state.permission_mode or asked.session.configured_permission_mode
    rows = [f"{number}. {asked.say(each.key, rule=_name(each))}" for number, each in enumerate(listed, 1)]
    told = asked.say("commands.permissions_listed" if rows else "commands.permissions_none", rules="\n".join(rows))
    modes = asked.say("commands.permissions_modes", modes=", ".join(f"`{each}`" for each in MODES))
    said = (asked.say(f"commands.permissions_mode_{mode.value}"), told, *([modes] if asked.by_owner else []))
    return "\n\n".join(said)


def _name(listed: ListedRule) -> str:
    about = listed.rule.about if listed.rule is not None else ""
    return escape(f"{listed.tool} ({about})" if about else listed.tool)


def _set_rule(asked: Invocation, verdict: Verdict, text: str) -> Reply | Write:
    try:
        rule = parse_rule(text, verdict, Source.SESSION)
    except BadRule:
        return Reply(asked.say("commands.permissions_bad", rule=escape(text[:SHOWN_CHARS])))
    tools = asked.session.tools
    if rule.names_one_tool and rule.tool not in tools and not rule.tool.startswith(OF_SERVERS):
        near = get_close_matches(rule.tool, tools, n=1)
        key = "commands.permissions_no_tool_near" if near else "commands.permissions_no_tool"
        return Reply(asked.say(key, tool=escape(rule.tool), near=escape("".join(near))))
    return Write(_keep_rule, asked, verdict, rule.text)


def _keep_rule(connection: Connection, asked: Invocation, verdict: Verdict, text: str) -> Reply:
    rule = SessionRule(
        tenant=asked.principal.tenant,
        session_id=asked.session.state.id,
        user_id=asked.principal.user_id,
        verdict=verdict,
        rule=text,
        since=asked.clock(),
    )
    if not session_rules.put(connection, rule):
        return Reply(asked.say("commands.permissions_full", most=session_rules.MOST_RULES))
    shown = asked.say(ListedRule(text, rule).key, rule=escape(text))
    return Reply(asked.say("commands.permissions_set", rule=shown), changed=Changed(permissions=True))


def _set_mode(asked: Invocation, mode: Mode) -> Reply | Write:
    if not asked.by_owner:
        name, owners = f"permissions {mode.value}", asked.say("roles.owner")
        return Reply(asked.say("commands.not_allowed", name=name, roles=owners))
    return Write(_keep_mode, asked, mode)


def _keep_mode(connection: Connection, asked: Invocation, mode: Mode) -> Reply:
    is_configured = mode is asked.session.configured_permission_mode
    journal.set_permission_mode(connection, asked.session.state.id, None if is_configured else mode)
    said = asked.say(f"commands.permissions_mode_{mode.value}")
    return Reply(f"{said} {asked.say('commands.permissions_from_now')}", changed=Changed(permissions=True))


def _take_back(connection: Connection, asked: Invocation, wanted: str) -> Reply:
    """Take back the listed rules with this number or text, or all."""
    listed = _find_rules(connection, asked)
    if wanted.lower() == ALL:
        meant = listed
    elif wanted.isdecimal() and len(wanted) < 4:
        meant = listed[int(wanted) - 1 : int(wanted)] if int(wanted) else []
    else:
        meant = [each for each in listed if each.tool == wanted]
    if not meant:
        return Reply(asked.say("commands.permissions_unknown", rule=escape(wanted[:SHOWN_CHARS])))
    for each in meant:
        if each.rule is None:
            approvals.forget(connection, asked.principal.tenant, asked.principal.user_id, each.tool)
    session_rules.take_back(connection, [each.rule for each in meant if each.rule is not None])
    rules = "\n".join(f"- {asked.say(each.key, rule=_name(each))}" for each in meant)
    return Reply(asked.say("commands.permissions_taken_back", rules=rules), changed=Changed(permissions=True))


PERMISSIONS = Command(
    "permissions",
    "menu.permissions",
    permissions,
    options=(CommandOption("what", "menu.permissions.what"),),
    group=HelpGroup.CHAT,
)
