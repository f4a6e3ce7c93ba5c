"""What the coach says in English. Keys are the same in every language; `{}` fields are filled by `language.say`."""

TEXTS = {
    # what is refused, and what to do instead
    "problem_empty": "Say how long and what, like `/log 45m guitar scales`.",
    "problem_no_duration": "How long was it? Write it like `/log 45m guitar scales`, `/log 1h30 piano` or "
    "`/log yesterday 20 min guitar`.",
    "problem_no_unit": "Minutes or hours? Write it like `/log 45m guitar` or `/log 1.5h guitar`.",
    "problem_zero": "Zero minutes are nothing to log. Write at least one minute, like `/log 5m guitar`.",
    "problem_too_long": "A day has 24 hours, so one entry cannot have more. Check the number, or log each day apart.",
    "problem_day_full": "That would make more than 24 hours on {detail}. Check the number, or /undo the last entry.",
    "problem_future": "{detail} has not come yet. Log it when it is done, or leave the date out for today.",
    "problem_bad_date": "I cannot read the date “{detail}”. Write it as year-month-day, like `2026-03-09`, or "
    "`yesterday`.",
    "problem_no_skill": "Which skill was it? Add its name, like `/log 45m {example}`.",
    "problem_which_skill": "Which skill was it? You have: {detail}. Add its name, like `/log 45m {example}`.",
    "problem_no_name": "A skill needs a name with letters in it, like `/log 45m guitar`.",
    "problem_name_too_long": "That name is too long for a skill (64 characters at most). Put the rest behind a colon: "
    "`/log 45m guitar: slow scales`.",
    "problem_bad_goal": "A goal is between 1 minute and 100,000 hours.",
    "problem_unknown_skill": "You have no skill “{detail}”. /skills shows yours.",
    "problem_unknown_session": "There is no such practice entry to change. Log one first, like `/log 45m guitar`.",
    "problem_nothing_to_undo": "There is nothing to undo: no practice is logged.",
    # changes
    "logged": "Logged **{minutes}** {emoji} {skill}{day}{notes}. Total {total}, {level}. /undo takes it back.",
    "logged_new_skill": "“{skill}” is a new skill of yours, with a goal of {goal}.",
    "brought_back": "“{skill}” was archived; it is back.",
    "level_up": "You have reached {level}!",
    "undone": "Took back {minutes} {emoji} {skill} ({date}). Total {total}.",
    "undone_skill": "The skill had nothing else, so it is archived.",
    "edited": "Corrected: **{minutes}** {emoji} {skill} ({date}; it was {before}). Total {total}.",
    "created": "{emoji} **{skill}** is on your list now, with a goal of {goal}. Log practice with `/log 45m {skill}`.",
    "already_there": "{emoji} **{skill}** is on your list already.",
    "today": "today",
    "yesterday": "yesterday",
    "on_day": " on {date}",
    # levels
    "level_seed": "Seed",
    "level_apprentice": "Apprentice",
    "level_intermediate": "Intermediate",
    "level_advanced": "Advanced",
    "level_master": "Master",
    # units and names
    "day_one": "{n} day",
    "day_many": "{n} days",
    "weekdays": "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday",
    "trend_improving": "improving",
    "trend_stable": "stable",
    "trend_declining": "declining",
    "consistency_excellent": "excellent",
    "consistency_good": "good",
    "consistency_regular": "regular",
    "consistency_low": "low",
    # numbers
    "nothing_yet": "Nothing is logged yet. Start with your first entry: `/log 45m guitar scales`.",
    "nothing_of_skill": "Nothing is logged for {skill} yet. Start with `/log 45m {skill}`.",
    "stats_title": "## Your journey",
    "stats_title_skill": "## {emoji} {skill}",
    "stats_total": "**{total}** in {days} of practice since {first}",
    "stats_weeks": "This week **{this}**, last week {last}, on average {average} a week",
    "stats_best_day": "Best day: {day} with {minutes}",
    "stats_best_week": "Best week: that of {day} with {minutes}",
    "stats_streak": "Streak: **{current}** in a row, the longest was {longest}",
    "stats_streak_open": "Nothing logged today yet, so today still counts",
    "stats_level": "Level: {level}, {left} to {next}",
    "stats_level_top": "Level: {level}, the highest there is",
    "stats_goal": "Goal: {percent} of {goal}. At {pace} a week you reach it around {date}",
    "stats_goal_far": "Goal: {percent} of {goal}. At {pace} a week that takes over a hundred years, so look at the "
    "next level first",
    "stats_goal_paused": "Goal: {percent} of {goal}. No practice in the last eight weeks, so no date to name",
    "stats_goal_done": "Goal: reached, {goal} are done",
    "habits_title": "### Habits",
    "habits_trend": "Trend: **{trend}** ({recent} in the last four weeks, {before} in the four before)",
    "habits_active": "Active on {active} of the last 30 days: {consistency}",
    "habits_days": "Most on {best} ({minutes}), least on {worst}",
    "habits_gaps": "Longest break {longest}, {over} longer than three days",
    "habits_no_gaps": "No break at all so far",
    "skills_title": "## Your skills",
    "skills_row": "{emoji} **{skill}**: {total}, {level}, {percent} of {goal}",
    "skills_archived": " (archived)",
    "history_title": "## Your practice, entry by entry",
    "history_skill": "### {emoji} {skill}: {total} in the last {days}",
    "history_row": "{date}: {minutes}{notes}",
    "history_none": "nothing in these days",
    # plans
    "plan_summary": "## Summary",
    "plan_plan": "## Plan",
    "plan_focus": "## Focus",
    "plan_goal": "## Goal",
    "plan_numbers": "You practised {recent} in the last four weeks, {before} in the four before: {trend}. "
    "You were active on {active} of the last 30 days, and your streak is {streak}.",
    "plan_day": "**{weekday}**: {minutes} {emoji} {skill}, {what}",
    "plan_rest": "**{weekday}**: rest",
    "plan_what_hard": "one hard passage, slowly and without errors",
    "plan_what_review": "what you did last time, then one step further",
    "plan_what_play": "put the parts together, record yourself and listen",
    "plan_focus_gap": "Short and often beats long and rarely: your longest break was {longest}. Ten minutes save a "
    "day.",
    "plan_focus_anchor": "The same hour beats more minutes: tie each session to something you do that day anyway.",
    "plan_focus_steady": "Keep the days as they are, and raise the difficulty instead of the minutes.",
    "plan_goal_week": "**{minutes}** this week, on {sessions} days. {level_line}",
    "plan_level_line": "{left} are left to {level} in {skill}.",
    "plan_empty": "There is no practice to plan from yet, so begin small: 20 minutes on four days, the same hour each "
    "day. Log each with `/log 20m guitar`, and ask me for a plan again in a week.",
    # insights
    "insight_streak": "{days} in a row",
    "insight_streak_more": "Your streak stands at {days}; the longest was {longest}.",
    "insight_progress": "More than before",
    "insight_progress_more": "{recent} in the last four weeks against {before} in the four before.",
    "insight_plateau": "Less than before",
    "insight_plateau_more": "{recent} in the last four weeks against {before} in the four before.",
    "insight_even": "Holding the level",
    "insight_milestone": "{level} in {skill}",
    "insight_milestone_more": "{left} are left of the way to {level}.",
    "insight_reached_more": "{skill} reached {level} with {total}.",
    "insight_gaps": "Shorter breaks",
    "insight_gaps_more": "{over} breaks were longer than three days; the longest was {longest}.",
    "insight_weekday": "A place for {weekday}",
    "insight_weekday_more": "{weekday} is the day with the least practice: {minutes} in all.",
    # the offline coach
    "offline_notice": "_I am the offline coach: I answer by rules from your data, no language model is connected._",
    "offline_greeting": "Hello! Tell me what you practised (“45m guitar scales”), ask how it goes (“stats”) or for a "
    "weekly plan (“plan”).",
    "offline_thanks": "You are welcome. See you at the next practice!",
    "offline_unknown": "I did not understand that: offline I only know a few things. You can\n\n"
    "- log practice: “45m guitar scales”, “yesterday 1h30 piano”\n- correct it: “actually it was 60 minutes”, “undo”\n"
    "- ask: “stats”, “skills”, “history”, “plan”, “guide”, “help”",
    "offline_help": "## What I can do\n\n"
    "**Log practice.** Write it as you would say it: “45m guitar scales”, “1h30 piano”, “1.5 h guitar”, “yesterday "
    "20 min guitar”, “2026-03-09 1h chess: endgames”. A skill you have not used before is added "
    "after a yes, or with /log.\n\n"
    "**Correct it.** “Actually it was 60 minutes” changes the last entry, “undo” takes it back. You may say so while I "
    "am still answering.\n\n"
    "**See how it goes.** “stats” shows totals, streaks, your pace and the goal, “stats guitar” those of one skill, "
    "“skills” lists all of them with their levels, “history” each entry of the last 90 days.\n\n"
    "**Plan.** “plan” looks at your last weeks and writes a plan for this one: summary, plan, focus, goal.\n\n"
    "**Learn how.** “guide” tells how deliberate practice works.\n\n"
    "Commands do the same: /log, /stats, /skills, /plan, /undo; /help lists all of them.",
    "ask_log": "Shall I log **{what}**? Say yes or no.",
    "ask_new_skill": "New skill “{skill}”? With a yes I add it and log **{what}**.",
    "ask_create": "Shall I add “{skill}” to your skills? Say yes or no.",
    "ask_correction": "Shall I change your last entry to **{what}**? Say yes or no.",
    "ask_undo": "Shall I take back your last entry? Say yes or no.",
    "reply_yes": "Yes",
    "reply_no": "No",
    "offline_declined": "All right, nothing was changed.",
    "offline_not_sure": "I have not logged anything: I am not sure that you practised. If you did, say it like "
    "“45m guitar”, with the time and one of your skills, or use `/log 45m guitar`.",
    "plan_not_kept": "_This is only a look; say “plan my week” and I keep it as this week's plan._",
    "exported": "{count} entries as a file, the oldest first.",
    "offline_failed": "That did not work: {error}",
    "offline_no_tools": "I cannot look at your data just now. What you said is kept; please ask again.",
}
