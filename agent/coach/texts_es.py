"""What the coach says in Spanish. Keys are the same in every language; `{}` fields are filled by `language.say`."""

TEXTS = {
    # what is refused, and what to do instead
    "problem_empty": "Di cuánto y qué, por ejemplo `/log 45m guitarra escalas`.",
    "problem_no_duration": "¿Cuánto tiempo fue? Escríbelo así: `/log 45m guitarra escalas`, `/log 1h30 piano` o "
    "`/log ayer 20 min guitarra`.",
    "problem_no_unit": "¿Minutos u horas? Escríbelo así: `/log 45m guitarra` o `/log 1,5h guitarra`.",
    "problem_zero": "Cero minutos no se pueden anotar. Escribe al menos uno, como `/log 5m guitarra`.",
    "problem_too_long": "Un día tiene 24 horas, así que una anotación no puede tener más. Revisa el número o anota "
    "cada día por separado.",
    "problem_day_full": "Serían más de 24 horas el {detail}. Revisa el número o quita la última anotación con /undo.",
    "problem_future": "El {detail} aún no ha llegado. Anótalo cuando esté hecho, o quita la fecha para hoy.",
    "problem_bad_date": "No entiendo la fecha «{detail}». Escríbela como año-mes-día, por ejemplo `2026-03-09`, o "
    "`ayer`.",
    "problem_no_skill": "¿Qué habilidad fue? Añade su nombre, como `/log 45m {example}`.",
    "problem_which_skill": "¿Qué habilidad fue? Tienes: {detail}. Añade su nombre, como `/log 45m {example}`.",
    "problem_no_name": "Una habilidad necesita un nombre con letras, como `/log 45m guitarra`.",
    "problem_name_too_long": "Ese nombre es demasiado largo (64 caracteres como mucho). Pon el resto tras dos puntos: "
    "`/log 45m guitarra: escalas lentas`.",
    "problem_bad_goal": "Una meta está entre 1 minuto y 100.000 horas.",
    "problem_unknown_skill": "No tienes ninguna habilidad «{detail}». /skills muestra las tuyas.",
    "problem_unknown_session": "No hay ninguna anotación así que cambiar. Anota primero una: `/log 45m guitarra`.",
    "problem_nothing_to_undo": "No hay nada que deshacer: no hay práctica anotada.",
    # changes
    "logged": "Anotado: **{minutes}** {emoji} {skill}{day}{notes}. Total {total}, {level}. /undo lo deshace.",
    "logged_new_skill": "«{skill}» es una habilidad nueva, con una meta de {goal}.",
    "brought_back": "«{skill}» estaba archivada; ha vuelto.",
    "level_up": "¡Has llegado a {level}!",
    "undone": "Quitado: {minutes} {emoji} {skill} ({date}). Total {total}.",
    "undone_skill": "La habilidad no tenía nada más, así que queda archivada.",
    "edited": "Corregido: **{minutes}** {emoji} {skill} ({date}; eran {before}). Total {total}.",
    "created": "{emoji} **{skill}** está en tu lista, con una meta de {goal}. Anota práctica con `/log 45m {skill}`.",
    "already_there": "{emoji} **{skill}** ya está en tu lista.",
    "today": "hoy",
    "yesterday": "ayer",
    "on_day": " el {date}",
    # levels
    "level_seed": "Semilla",
    "level_apprentice": "Aprendiz",
    "level_intermediate": "Intermedio",
    "level_advanced": "Avanzado",
    "level_master": "Maestro",
    # units and names
    "day_one": "{n} día",
    "day_many": "{n} días",
    "weekdays": "lunes|martes|miércoles|jueves|viernes|sábado|domingo",
    "trend_improving": "mejorando",
    "trend_stable": "estable",
    "trend_declining": "bajando",
    "consistency_excellent": "excelente",
    "consistency_good": "buena",
    "consistency_regular": "regular",
    "consistency_low": "baja",
    # numbers
    "nothing_yet": "Aún no hay nada anotado. Empieza con tu primera anotación: `/log 45m guitarra escalas`.",
    "nothing_of_skill": "Aún no hay nada anotado de {skill}. Empieza con `/log 45m {skill}`.",
    "stats_title": "## Tu camino",
    "stats_title_skill": "## {emoji} {skill}",
    "stats_total": "**{total}** en {days} de práctica desde {first}",
    "stats_weeks": "Esta semana **{this}**, la pasada {last}, de media {average} por semana",
    "stats_best_day": "Mejor día: {day} con {minutes}",
    "stats_best_week": "Mejor semana: la del {day} con {minutes}",
    "stats_streak": "Racha: **{current}** seguidos, la más larga fue de {longest}",
    "stats_streak_open": "Hoy aún no hay nada anotado, así que hoy todavía cuenta",
    "stats_level": "Nivel: {level}, faltan {left} para {next}",
    "stats_level_top": "Nivel: {level}, el más alto que hay",
    "stats_goal": "Meta: {percent} de {goal}. Con {pace} por semana la alcanzas hacia el {date}",
    "stats_goal_far": "Meta: {percent} de {goal}. Con {pace} por semana son más de cien años, así que mira primero el "
    "próximo nivel",
    "stats_goal_paused": "Meta: {percent} de {goal}. Sin práctica en ocho semanas no hay fecha que dar",
    "stats_goal_done": "Meta: alcanzada, {goal} están hechas",
    "habits_title": "### Hábitos",
    "habits_trend": "Tendencia: **{trend}** ({recent} en las últimas cuatro semanas, {before} en las cuatro "
    "anteriores)",
    "habits_active": "Con práctica en {active} de los últimos 30 días: constancia {consistency}",
    "habits_days": "Más el {best} ({minutes}), menos el {worst}",
    "habits_gaps": "Pausa más larga {longest}, {over} de más de tres días",
    "habits_no_gaps": "Ninguna pausa hasta ahora",
    "skills_title": "## Tus habilidades",
    "skills_row": "{emoji} **{skill}**: {total}, {level}, {percent} de {goal}",
    "skills_archived": " (archivada)",
    "history_title": "## Tu práctica, una por una",
    "history_skill": "### {emoji} {skill}: {total} en los últimos {days}",
    "history_row": "{date}: {minutes}{notes}",
    "history_none": "nada en estos días",
    # plans
    "plan_summary": "## Resumen",
    "plan_plan": "## Plan",
    "plan_focus": "## Enfoque",
    "plan_goal": "## Meta",
    "plan_numbers": "Practicaste {recent} en las últimas cuatro semanas y {before} en las cuatro anteriores: {trend}. "
    "Hubo práctica en {active} de los últimos 30 días, y tu racha es de {streak}.",
    "plan_day": "**{weekday}**: {minutes} {emoji} {skill}, {what}",
    "plan_rest": "**{weekday}**: descanso",
    "plan_what_hard": "un pasaje difícil, despacio y sin errores",
    "plan_what_review": "lo de la última vez, y luego un paso más",
    "plan_what_play": "junta las partes, grábate y escúchate",
    "plan_focus_gap": "Poco y a menudo vale más que mucho y rara vez: tu pausa más larga fue de {longest}. Diez "
    "minutos salvan un día.",
    "plan_focus_anchor": "La misma hora vale más que más minutos: ata cada sesión a algo que ese día ya haces.",
    "plan_focus_steady": "Deja los días como están y sube la dificultad en vez de los minutos.",
    "plan_goal_week": "**{minutes}** esta semana, en {sessions} días. {level_line}",
    "plan_level_line": "Faltan {left} para {level} en {skill}.",
    "plan_empty": "Aún no hay práctica de la que partir, así que empieza con poco: 20 minutos cuatro días, a la misma "
    "hora. Anota cada uno con `/log 20m guitarra` y pídeme un plan otra vez en una semana.",
    # insights
    "insight_streak": "{days} seguidos",
    "insight_streak_more": "Tu racha es de {days}; la más larga fue de {longest}.",
    "insight_progress": "Más que antes",
    "insight_progress_more": "{recent} en las últimas cuatro semanas frente a {before} en las cuatro anteriores.",
    "insight_plateau": "Menos que antes",
    "insight_plateau_more": "{recent} en las últimas cuatro semanas frente a {before} en las cuatro anteriores.",
    "insight_even": "Mantienes el nivel",
    "insight_milestone": "{level} en {skill}",
    "insight_milestone_more": "Faltan {left} para llegar a {level}.",
    "insight_reached_more": "{skill} llegó a {level} con {total}.",
    "insight_gaps": "Pausas más cortas",
    "insight_gaps_more": "{over} pausas fueron de más de tres días; la más larga, de {longest}.",
    "insight_weekday": "Un hueco el {weekday}",
    "insight_weekday_more": "El {weekday} es el día con menos práctica: {minutes} en total.",
    # the offline coach
    "offline_notice": "_Soy el entrenador sin conexión: respondo por reglas con tus datos, no hay ningún modelo de "
    "lenguaje conectado._",
    "offline_greeting": "¡Hola! Dime qué practicaste («45m guitarra escalas»), pregunta cómo vas («estadísticas») o "
    "pide un plan semanal («plan»).",
    "offline_thanks": "De nada. ¡Hasta la próxima práctica!",
    "offline_unknown": "No lo he entendido: sin conexión solo sé unas pocas cosas. Puedes\n\n"
    "- anotar práctica: «45m guitarra escalas», «ayer 1h30 piano»\n- corregirla: «en realidad fueron 60 minutos», "
    "«deshacer»\n- preguntar: «estadísticas», «habilidades», «historial», «plan», «guía», «ayuda»",
    "offline_help": "## Lo que sé hacer\n\n"
    "**Anotar práctica.** Escríbelo como lo dirías: «45m guitarra escalas», «1h30 piano», «hora y media de guitarra», "
    "«ayer 20 min guitarra», «2026-03-09 1h ajedrez: finales». Una habilidad nueva se añade tras un sí, o con /log.\n\n"
    "**Corregir.** «En realidad fueron 60 minutos» cambia la última anotación, «deshacer» la quita. Puedes decirlo "
    "mientras todavía respondo.\n\n"
    "**Ver cómo vas.** «estadísticas» muestra totales, rachas, tu ritmo y la meta; «estadísticas guitarra», los de una "
    "habilidad; «habilidades», todas con su nivel; «historial», cada anotación de los últimos 90 días.\n\n"
    "**Planificar.** «plan» mira tus últimas semanas y escribe un plan para esta: resumen, plan, enfoque y meta.\n\n"
    "**Aprender cómo.** «guía» cuenta cómo funciona la práctica deliberada.\n\n"
    "Los comandos hacen lo mismo: /log, /stats, /skills, /plan, /undo; /help los muestra todos.",
    "ask_log": "¿Anoto **{what}**? Di sí o no.",
    "ask_new_skill": "¿Habilidad nueva «{skill}»? Con un sí la añado y anoto **{what}**.",
    "ask_create": "¿Añado «{skill}» a tus habilidades? Di sí o no.",
    "ask_correction": "¿Cambio tu última anotación a **{what}**? Di sí o no.",
    "ask_undo": "¿Quito tu última anotación? Di sí o no.",
    "reply_yes": "Sí",
    "reply_no": "No",
    "offline_declined": "De acuerdo, no he cambiado nada.",
    "offline_not_sure": "No he anotado nada: no estoy seguro de que practicaras. Si fue así, dilo como «45m guitarra», "
    "con el tiempo y una de tus habilidades, o usa `/log 45m guitarra`.",
    "plan_not_kept": "_Esto es solo una muestra; di «planifica mi semana» y lo guardo como plan de esta semana._",
    "exported": "{count} anotaciones en un archivo, la más antigua primero.",
    "offline_failed": "No ha funcionado: {error}",
    "offline_no_tools": "Ahora mismo no puedo ver tus datos. Lo que dijiste está guardado; pregunta otra vez.",
}
