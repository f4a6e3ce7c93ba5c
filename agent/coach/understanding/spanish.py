"""Spanish: the words of its table. Data, no rules."""

from agent.coach.understanding.amount_words import SPANISH_AMOUNTS
from agent.coach.understanding.tables import LanguageTable

SPANISH = LanguageTable(
    code="es",
    amounts=SPANISH_AMOUNTS,
    days={
        "hoy": 0, "esta mañana": 0, "esta tarde": 0, "este mediodía": 0, "hace un rato": 0, "hace un ratito": 0,
        "hace rato": 0, "hace poco": 0, "hace nada": 0, "ahora mismo": 0, "recién": 0, "ayer": 1, "anoche": 1, "ayr": 1,
        "ayercito": 1, "ayerr": 1, "ayrr": 1, "alyer": 1, "la noche pasada": 1, "antenoche": 2, "antesdeayer": 2,
        "antie": 2, "antié": 2,
        "trasanteayer": 3, "trasantier": 3, "tras antier": 3, "tras anteayer": 3, "antes de anteayer": 3,
        "denantes": 0, "endenantes": 0,
        "aller": 1, "hayer": 1, "aier": 1, "anteayer": 2, "antier": 2, "antes de ayer": 2,
        "anteanoche": 2,        "antiayer": 2, "antes de anoche": 2,
    },
    open_days={
        "esta noche": 0,
    },
    parts=(
        "a la tardecita; a la nochecita; a la mañanita; de mañanita; de nochecita; en la tardecita; en la mañanita; "
        "en la nochecita; por la mañana; por la tarde; por la noche; a la noche; a la tarde; a la mañana; en la "
        "noche; en la tarde; en la mañana; de noche; al mediodía; a mediodía; de madrugada; temprano; de la mañana; "
        "de la tarde; de la noche; noche; tarde; tempranito; mismo"
    ),
    weekdays={
        "lunes": 0, "martes": 1, "miércoles": 2, "jueves": 3, "viernes": 4, "sábado": 5, "domingo": 6, "miercóles": 2,
        "lun": 0, "mart": 1, "mié": 2, "mier": 2, "jue": 3, "vie": 4, "sáb": 5,
        "juebes": 3, "biernes": 4,
    },
    months={
        "enero": 1, "febrero": 2, "marzo": 3, "abril": 4, "mayo": 5, "junio": 6, "julio": 7, "agosto": 8,
        "septiembre": 9, "setiembre": 9, "octubre": 10, "noviembre": 11, "diciembre": 12, "ene": 1, "dic": 12,
        "ago": 8, "sept": 9,
    },
    times=(
        "la mañana; una mañana; la tarde; la noche; toda la mañana; por la mañana; por la tarde; por la noche; al "
        "mediodía; a mediodía; de madrugada; en la noche; en la tarde; a la noche; a la tarde; en la mañana; después "
        "de comer; después de cenar; después de almorzar; antes de cenar; antes de comer; antes de dormir; después "
        "del trabajo; antes del trabajo; después de desayunar; antes de desayunar; después del desayuno; antes de "
        "trabajar; al salir del trabajo; después de clase; antes de almorzar; a la hora de comer; después de la cena; "
        "después de la comida; antes de la cena; antes de la comida; antes de acostarme; de noche; toda la comida; al "
        "mediodia; nada más levantarme; al levantarme; al despertarme; al llegar a casa; al volver del trabajo; al "
        "salir de clase; saliendo del trabajo; saliendo de clase; a primera hora; antes del curro; después del curro; "
        "saliendo del curro; al salir del curro; antes del desayuno; en el recreo; antes del trabajo"
    ),
    periods=(
        "la otra noche; la otra tarde; el día anterior; el día antes; la noche anterior; a principios de semana; a "
        "inicios de semana; a mediados de semana; entre semana; semana santa; en navidad; en navidades; en año nuevo; "
        "en verano; en invierno; mi cumpleaños; la víspera; en lo que va de semana; todo el finde; todo el fin de "
        "semana; antepasado; antepasada; el mes antepasado; el otro lunes; desde el lunes; el otro martes; desde el "
        "martes; el otro miércoles; desde el miércoles; el otro jueves; desde el jueves; el otro viernes; desde el "
        "viernes; el otro sábado; desde el sábado; el otro domingo; desde el domingo; la semana pasada; esta semana; "
        "el mes pasado; este mes; el año pasado; este año; el otro día; este finde; el finde; el fin de semana; este "
        "fin de semana; el finde pasado; el fin de semana pasado; hace unos días; últimamente; estos días; toda la "
        "semana; la otra vez; un día; una vez; el verano pasado; hace tiempo"
    ),
    vague=(
        "un poco; un poquito; un rato; un ratito; un buen rato; algo de; unos minutos; varios minutos; algunos "
        "minutos; unas horas; varias horas; todo el día; toda la tarde; toda la mañana; toda la noche; un montón; "
        "horas y horas; unos minutitos; mucho tiempo; poco tiempo; un toque; un cachito; horas; ni idea de cuánto; ni "
        "idea de cuánto tiempo; no sé cuánto; no sé cuánto tiempo; no recuerdo cuánto; no me acuerdo cuánto; no medí "
        "cuánto; no conté cuánto; no me fijé cuánto; un rato largo; un ratico; un rato bueno; un buen tiempo; "
        "bastante rato; bastante tiempo; un poquitín; un pelín; un tiempito; perdí la noción del tiempo"
    ),
    phrases={
        "O": (
            "cachai que; cacha que; sabes que; resulta que; te juro que; mira que; que sepas que; viste que; creo que "
            "salió; creo que me salió; creo que voy; creo que estoy; creo que fue bien; por cierto; a ver; "
            "estoy que me salgo; no mucho; no fue mucho; nada especial; nada del otro mundo; no gran cosa; "
            "no tanto; diría que; yo diría que; por si sirve; por si te sirve; por si "
            "te interesa; por si cuenta; si te sirve; no apunté; no anoté; no registré; no lo apunté; no lo anoté; no "
            "lo registré; no he apuntado; no he anotado; se me olvidó apuntar; se me olvidó anotar; se me olvidó "
            "apuntarlo; se me olvidó anotarlo; me olvidé de apuntar; me olvidé de anotar; se me pasó apuntar; se me "
            "pasó apuntarlo; olvidé apuntar; olvidé anotar; olvidé apuntarlo; por favor; buenos días; buenas tardes; "
            "buenas noches; se me olvidó decirte que; olvidé decirte que; se me olvidó decir que; se me olvidó "
            "anotarlo; se me olvidó apuntarlo; se me olvidó anotar; por fin; me olvidé de anotarlo; olvidé anotarlo; "
            "olvidé apuntarlo; se me pasó anotarlo; se me pasó apuntarlo; quería contarte que; te cuento que; sí "
            "señor; no está mal; nada mal; menos mal; y nada ,; la verdad; pues mira; pues nada; que onda; qué onda; "
            "agrégalo porfa; para que conste; no manches; menos da una piedra; algo es algo; peor es nada; sin parar; "
            "sin pausa; sin descanso; sin pausas; ni más ni menos; de nuevo; otra vez; dios mío; sin excusas; mejor "
            "que nada; me olvidé de decirte que; olvidé decir que; se me olvidó contarte que; no problem; la neta; la "
            "verdad es que; la verdad que; para variar; por una vez; poca cosa; no fue mucho; de vuelta; como "
            "prometí; según lo planeado; según lo previsto; nada del otro mundo; nada especial; nada de otro mundo; "
            "nada fancy; nada loco; no fue gran cosa; no es gran cosa; ni tan mal; no me quejo; con ganas; sin ganas; "
            "le eché ganas; le eche ganas; echándole ganas; de una; al toque; querido diario; qué día; menudo día; "
            "día largo; vaya día; pasito a paso; poco a poco; no hice mucho; no hice gran cosa; no tuve mucho tiempo; "
            "no me dio tiempo a más; no me dio para más; soy yo; soy yo otra vez; no avancé mucho; mensaje de voz; "
            "nota de voz; muchas gracias; mil gracias; nos vemos; vuelvo a la carga; de vuelta a la carga; volví; voy "
            "mejorando; ahí vamos; vamos bien"
        ),
        "o": (
            "no te conté; no te lo conté; no te había contado; q no te conté; que no te conté; q los hice; que los "
            "hice; que ya hice; los hice; lo hice; la hice; que las hice; todo hecho; los dos hechos; las dos hechas; "
            "ambas hechas; ambos hechos; al saco; al bote; a la saca; en el bolsillo; para el cuerpo; pal cuerpo; pa "
            "el cuerpo; listo el pollo; y listo; lista la tarea; en la mochila; en el saco; en la bolsa; a la bolsa; "
            "ya quedó; ya quedo; ya está; ya estuvo; esa fue mi tarde; eso es todo por; eso fue todo por"
        ),
        "c": "además de; y también; y además; así como; y luego; y después; y despues",
        "C": "después de eso; luego de eso",
        "B": "así que; asi que; pero igual; aun así; sin embargo; ya que; a pesar de; por eso; y yo",
        "t": "antes de; después de; antes del; después del; a pesar; pese a; pese al; gracias a; hasta que",
        "J": (
            "de siempre; por primera vez; en meses; en semanas; en años; en siglos; por primera vez en meses; por "
            "primera vez en semanas; por primera vez en años; en plan; al final; por lo menos; al menos; yo solo; yo "
            "sola; por mi cuenta; a solas; en casa; han caído; ha caído; en realidad; en línea; por internet; en "
            "vivo; al aire libre; con amigos; con la banda; con mi profe; en el parque; en mi cuarto; en punto; de "
            "ellos; clavados; clavadas; como mandó el médico; a tope; a muerte; a full; a saco"
        ),
        "F": (
            "más o menos; algo así como; nada más; poco más de; casi casi; o así; o por ahí; en total; no me dio "
            "tiempo más que para; no me dio tiempo para más que; no más que; no me dio más que para; no pude más que; "
            "nada más que"
        ),
        "p": "para entrar en calor; para calentar",
        "v": (
            "salí en; recién vuelvo de; vuelvo de; acabo de volver de; acabo de llegar de; vengo de; recién termino; "
            "recién acabo; recién hice; fui al; fui a la; pude hacer; pude practicar; logré hacer; alcancé a hacer; "
            "me senté con; me senté a; me senté al; me puse con; conseguí hacer; pude tocar; logré tocar; pude "
            "estudiar; me aventé; me eché; me hice; me curré; me marqué; me puse a practicar; me puse a tocar; le di "
            "a; le di al; pude con; me mandé; me casqué; me chuté; me metí; le di; le dediqué; le metí; le metí duro; "
            "le eché; le pegué; le dedique; le meti; le eche; salí a; fui a; sali a; he salido a; he ido a; he ido "
            "al; salí de; me fui a; he estado; yo estuve; me he puesto con; me he puesto a; aproveché para; aproveche "
            "para; aproveché y; aproveché; aproveche; conseguí sacar; consegui sacar; logré sacar; pude sacar; le "
            "metí caña a; le metí caña al; le metí caña; le metí duro a; le metí duro al; le metí fuerte; le di duro "
            "a; le di duro al; le di caña a; le di caña al; me pasé; me puse a; me puse; me puse al; me tiré; me "
            "clavé; me bajé; me aventé con; me senté a practicar; me pegué; me encerré con; me la pasé; estuve en; "
            "estuve con; estuve dándole a; estuve dándole al; estuve dándole; le estuve dando a; le estuve dando al; "
            "anduve con; anduve en; me tocó; cayó; cayeron; saqué; saqué para; me saqué; conseguí; logré; completé; "
            "cumplí; cumplí con; rematé; despaché; liquidé; troné; me reventé; me eché unos; me mandé unos; me puse a "
            "darle a; le entré a; le entré al; le entre a; le entre al; me metí con; me enganché con; avancé con; "
            "avancé; avance con; adelanté; repasé; tuve mi; tuve mis; me ha dado tiempo a; me dio tiempo a; me dio "
            "tiempo de; me alcanzó para; alcancé a; encontré tiempo para; saqué tiempo para; me hice un hueco para; "
            "me senté con la; me senté con el; me di una sesión de; me pegué una sesión de; le saqué; ahorita "
            "terminé; recién terminé; terminé de"
        ),
        "w": (
            "sobre todo; más que nada; tenía un rato; tenía un ratito; tenía un hueco; tenía tiempo; tenía tiempo "
            "libre; tuve un rato"
        ),
        "R": "sin; en vez de; en lugar de; excepto; salvo",
        "P": "enfrente de; delante de; al lado de; frente a; frente al; encima de; junto a; junto al",
        "H": (
            "no me creo que haya; no me puedo creer que haya; no puedo creer que haya; parece mentira que haya; "
            "increíble que haya"
        ),
    },
    twisted_phrases={
        "reminder": "que no se me olvide; no me dejes olvidar",
        "habit": (
            "cada uno; cada una; cada cosa; al día; a la semana; al mes; por día; por semana; a diario; cada día; "
            "todos los días; todas las mañanas; todas las noches; todas las tardes; dos veces; tres veces; los lunes; "
            "los martes; los miércoles; los jueves; los viernes; los sábados; los domingos; por sesión; por las "
            "noches; por las mañanas; por las tardes; cada noche; cada mañana; de chiquito; de pequeño; de niño; de "
            "niña; de joven; de chico; hace años; en la uni; los findes; los fines de semana; por regla general; por "
            "lo general; los viejos tiempos; en aquel entonces; por clase; todos los santos días; x semana; x día; x "
            "mes; en los 70; en los 80; en los 90; lo máximo que; lo más que"
        ),
        "future": (
            "voy a; vamos a; va a; la semana que viene; el mes que viene; que viene; más tarde; a punto de; iba a; "
            "íbamos a; para mañana; mañana por la mañana; a ver si; por delante; me toca; por hacer; listo para; "
            "lista para; listos para; listas para; hecho para; para hoy; vamos con; a por; en cuanto; apenas pueda; "
            "cuando pueda; en un rato; en un ratito; al rato; algún día; ahorita después; en mi lista; más al rato; "
            "luego me pongo; ahora me pongo"
        ),
        "negated": (
            "no quise; no quería; sin hacer; no hay; ni loco; ni de coña; ni hablar; cero minutos; 0 minutos; de eso "
            "nada; casi hago; casi practico; casi toco; casi estudio; me salté; se me olvidó; me olvidé; se me pasó; "
            "nada de; ni pizca de"
        ),
        "joke": (
            "me desperté; desperté; es broma; en sueños; en mis sueños; en mi cabeza; en teoría; es mentira; era "
            "broma; sí claro; si claro; no fui yo; ya quisiera; qué va; ni en sueños; en mi imaginación; no es "
            "verdad; no es cierto; me lo inventé; de mentira; de mentiritas; día de los inocentes; si tú lo dices; en "
            "un videojuego; en el videojuego; en realidad no; te lo creíste; en otra vida; ni loca; ni de broma; ya "
            "te digo que no; ni por asomo"
        ),
        "wish": "quizá haga; quizás haga; hay que; tuve que; había que; hubo que; me apetecía; se supone; se suponía",
        "doubt": (
            "lo mismo; lo mismo el; ídem; lo dejé; lo dejé tras; lo dejé a los; lo dejé después de; paré tras; paré a "
            "los; paré después de; me cansé a los; me cansé tras; me rendí tras; me rendí a los; abandoné a los; y "
            "sigo; y sigo en ello; y contando; sigo en ello; igual y; de adolescente; de estudiante; mi otra casa; mi "
            "antigua casa; mi juventud; mi infancia; mi niñez; mi época; mis tiempos; la pandemia; el confinamiento; "
            "en los ochenta; en los noventa; los dos días; ambos días; mañana y tarde; mañana y noche; la mitad; una "
            "parte; en el ejército; en la mili; tal vez; a lo mejor; puede que; no sé; no recuerdo; no me acuerdo; no "
            "estoy seguro; no estoy segura; antes de la pandemia; antes de los niños; antes del covid; en algún "
            "momento; o algo así; no se si; capaz que; por ahí; creo que; o fue; me parece"
        ),
        "goal": "mi meta; mi objetivo; llegar a",
        "reported": (
            "según; por ejemplo; p . ej .; p . ej; mi profe dice; en el video; en el vídeo; en la peli; en la "
            "película; en el libro"
        ),
        "others": "mi amigo; mi amiga; un amigo; una amiga; mi equipo; el equipo; mi causa; mi pana; mi bro",
        "lasts": "en internet; en la radio; en twitch; en la web; lista de; de largo; de duración; es de; son de; era "
        "de",
        "hypothetical": "a menos que; siempre que; en caso de; con tal de; si hubiera; si hubiese",
        "unclear": "más de; menos de; como mucho; como máximo; como mínimo; o más; o menos",
        "command": "por error; sin querer; por accidente; por equivocación",
    },
    roles={
        "I": "yo",
        "J": (
            "indoor también cayeron fueron ya recién finalmente además incluso todavía aún acá aquí solamente "
            "únicamente solo sólo apenas nomás cayó salieron sola seguido seguidos seguidas seguida le super muy "
            "medio tranqui tranquilamente"
        ),
        "O": (
            "hola buenas buenos ey hey ok okay vale bueno bien oye oiga porfa porfis porfavor genial perfecto sí "
            "claro che wey güey we parce tío tía bot coach entrenador entrenadora gracias jaja jajaja jeje uf uff "
            "mira amigo amiga holi ea olé toma bro jo ay ah oh posta eh pa ps pos nomas xd mae parce vaya anda neta "
            "tipo órale chale chido ostras hostia joder bueh bue buah puf puff pff pfff meh ñe ajam aja epa ala hala "
            "ojo cachai acere asere manito bróder brother estimado estimada querido querida joya re onda adiós chao "
            "chau rapidito nota reporte informe saludos aló pucha caramba híjole chuta ufa jolín guau miércole ándale "
            "quihubo"
        ),
        ".": "punto",
        ",": "coma",
        "L": "anotar apuntar registrar agregar sumar añadir apúntame anótame ponme añade anotá apuntá registrá agregá "
        "sumá agrégame regístrame añádeme apúnteme anóteme regístreme agrégueme añádame agregue registre "
        "añada anote apunte anoten agregá registrando anotando apuntando agregando sumando",
        "V": (
            "practiqué practicqué practiqe praktiqué practicado practike practik praktique praktike practiq ensayé "
            "ensayado rasgueé"
        ),
        "v": (
            "disfruté cumplí toqué estudié hice trabajé entrené repasé completé jugué terminé logré conseguí aprendí "
            "leccioné perfeccioné avancé acabé alcancé hise ise jugé toke toqe aguanté dediqué pasé invertí metí "
            "saqué estuve anduve eché tocado estudiado entrenado trabajado repasado dedicado pasado soplé jugado "
            "sacado aprendido metido acabo pude marcado currado echado"
        ),
        "f": (
            "practicar tocar estudiar ensayar entrenar repasar hacer jugar terminar completar cerrar sacar meter "
            "echar dar rascar avanzar acabar dibujar leer escribir encajar colar arañar apretar"
        ),
        "G": (
            "tocando estudiando ensayando entrenando repasando haciendo trabajando jugando aprendiendo dándole "
            "practicándo"
        ),
        "o": (
            "quedó hecho hecha hechos hechas listo lista listos listas terminado terminada completado completada "
            "completados ✅ ☑ ✔ ✓"
        ),
        "F": "durante unos unas casi aproximadamente como otros otras otra otro aprox por exactamente justo",
        "p": (
            "táctica tácticas speaking comprensión expresión oral auditiva barra conversación conversaciones "
            "intercambio dictado dictados tarjetas fichas apuntes flashcards partituras diálogos sesión sesiones "
            "práctica prácticas ejercicios ejercicio entrenamiento ensayo estudio escala escalas acorde acordes "
            "arpegio arpegios técnica técnicas gramática vocabulario problemas aperturas finales calentamiento rutina "
            "rutinas rondas vueltas largos series repaso entreno entrenos entrenamientos calentamientos lectura "
            "lecturas verbos kanjis sparring saque saques tiros pases golpes"
        ),
        "P": "de del con a al en para d contra entre",
        "T": (
            "primeros primeras primer primera el la los las mi un una mis lo este nuestra buena buen rica intensa "
            "linda larga corta justa escasa completa enterita entera enteras enteros completos completas justos "
            "justas intensos intenso largas escasos limpios limpias cortos propia propio propios nuestro"
        ),
        "c": "y e más + &",
        "C": "luego después entonces",
        "B": "pero porque aunque pues mas sino",
        "t": "que q mientras tras junto sin",
        "w": "bonita bonito",
        "H": "he",
    },
    twists={
        "negated": (
            "no nunca jamás nada tampoco ni ninguno ninguna ningún nadie salté faltó cancelé cancelado cancelada "
            "olvidé fallé aplazado aplazada aplacé pospuse pendiente pendientes cero dejé evité suspendido suspendida "
            "❌ 🚫 ✖ ✗ ✘ ahorré libré"
        ),
        "future": (
            "salgo empiezo comienzo retomo mañana voy vas pronto próximo próxima haré tocaré practicaré estudiaré iré "
            "será serán tendré podré mñn restante restantes quedan queda quedaban falta faltan faltaba faltaron "
            "planeo planeé planeado previsto programado prometí prometo prometido reservé reservado empezando "
            "preparándome toquemos practiquemos hagamos iba iban íbamos haremos empezaré tocará adelante dentro "
            "calendario agenda ahora ⏳ ⏰ 🔜 📅"
        ),
        "wish": (
            "prefiero preferiría vendría gustaría quiero quieres quisiera querría quería ojalá podría puedo puedes "
            "debo debería idealmente deberíamos necesito intento intenté pienso espero deseo propuse encantaría tengo "
            "tienes tiene tenía tendría pretendo apetece ganas pensaba pensando debí planeando hubiera hubiese habría "
            "saco"
        ),
        "goal": "meta metas objetivo objetivos reto desafío propósito",
        "habit": (
            "cada diario diaria diarios diarias suelo solía siempre normalmente generalmente habitualmente veces "
            "semanal semanales practico toco hago corro medito juego practicaba tocaba hacía estudiaba jugaba "
            "dibujaba corría entrenaba usualmente sábados domingos semanas meses año mes promedio antes llevo llevaba "
            "sigo frecuentemente regularmente dedico paso"
        ),
        "reminder": (
            "recuérdame recordame recordar recordarme recuerda recordatorio recordatorios alarma temporizador avísame "
            "avisar despiértame llámame cronómetro recuérdeme avíseme avísenme avisame avisa aviso avisos recuérdalo "
            "recordá recordatelo"
        ),
        "hypothetical": (
            "si imagina imagínate imagínense imagino imaginemos supongamos supón suponiendo hipotéticamente salvo "
            "haya hayas hayan teóricamente"
        ),
        "doubt": (
            "tocamos practicamos hicimos estudiamos ensayamos jugamos entrenamos dizque igual quizá quizás creo "
            "supuestamente suerte acaso supongo capaz posiblemente probablemente seguramente o u parece"
        ),
        "reported": (
            "dijeron dijimos dice dicen dijo dije dijiste decía contó preguntó pregunta escribió escribo escribí "
            "ejemplo asegura afirma según escribe comentó jura"
        ),
        "joke": (
            "broma bromeo bromeando mentira mentí miento falso sueño soñé sueños chiste ajá 🙄 🤥 😜 😉 😏 imaginario "
            "ficción virtual mentiroso hero inventé inventado"
        ),
        "command": (
            "deshaz deshacer deshazlo deshacé borrá borrar bórralo quita quitar elimina elimine ignora ignorar olvida "
            "cambiá cambiar corrige edita cancela anotes registres añadas apuntes agregues dejá archiva renombra pon "
            "ponme muéstrame enséñame exporta dame denme deme pásame mándame recomiéndame explícame"
        ),
        "others": (
            "lleva llevan practica toca estudia ensaya juega entrena tú usted ustedes vos él ella ellos ellas "
            "nosotros nosotras les su sus se te alguien hermano hermana hijo hija hijos esposa esposo mujer marido "
            "madre padre mamá papá novio novia niño niña nieto nieta abuelo abuela primo prima vecino vecina vecinos "
            "profesor profesora profe maestro maestra compañero compañera jefe perro gato bebé hizo practicó tocó "
            "estudió jugó corrió dibujó meditó ensayó entrenó hicieron tocaron practicaron coro banda orquesta gente "
            "todos alumno alumna alumnos alumnas niños niñas chicos chicas estudiantes sobrino sobrina sobrinos "
            "nietos cuñado cuñada yerno nuera colega colegas abuelos"
        ),
        "lasts": (
            "ver puso dio mandó obligó perdí perdido entrevista youtube netflix spotify tele grabación grabaciones "
            "simulador es son está están era eran fue sería estaría duran dura duró duraba tarda tardó tardé cuesta "
            "cuestan empieza empezó clase clases lección lecciones curso cursos vídeo vídeos película películas "
            "concierto conciertos tutorial tutoriales charla reunión reuniones cita examen exámenes prueba autobús "
            "bus tren vuelo viaje conduje manejé pausa pausas descanso siesta retraso cola vi escuché escuchando "
            "partido canción canciones episodio podcast disco documental serie dormí descansé tienda audición estaba "
            "foro foros torneo torneos ensayos obra ópera musical seminario taller anuncio anuncios artículo revista "
            "pieza campamento partida grabé filmé moví cargué caminé gasté rompí presté regalé discutí comí cené "
            "desayuné merendé almorcé llegué llamé pedí viajé sufrí soporté presencié grité lloré desperdicié "
            "malgasté contraté cobré subí bajé aparqué lavé planché barrí ordené fregué recogí colgué desmonté monté "
            "instalé descargué publiqué vendimos asistí charlé debatí lijé barnicé enceré engrasé soldé pulí miré "
            "comparé regateé desempolvé"
        ),
        "question": "qué cómo cuándo cuánto cuántos cuánta cuántas dónde cuál cuáles quién",
        "self": "me mí",
        "unclear": (
            "deberes tarea tareas menos demasiado demasiada muchos muchas bastante máximo mínimo récord racha segundo "
            "segundos afinar afinando afiné limpiar limpiando limpié buscando busqué arreglé arreglando comprar "
            "compré comprando vender vendí esperé esperando esto esta esa ese eso aquello hora horas minuto minutos "
            "cuarto hasta desde sobre ha han hemos había haber hay hace sido suena suenan significa sirve basta "
            "bastan cansa aburro pagué viendo total media enfermo enferma atasco tarde hablé hablando digo "
            "obligatorio obligatorios obligatoria enseñé expliqué corregí organicé impartí leí leyendo"
        ),
    },
    acts={
        "correr": "correr trotar", "dibujo": "dibujar", "dibujar": "dibujar", "meditación": "meditar",
        "canto": "cantar", "cantar": "cantar", "programación": "programar codear", "programar": "programar codear",
        "escritura": "escribir", "natación": "nadar", "nadar": "nadar", "pintura": "pintar", "pintar": "pintar",
        "baile": "bailar", "bailar": "bailar", "cocina": "cocinar", "lectura": "leer", "leer": "leer",
        "ciclismo": "pedalear", "escalada": "escalar", "tejer": "tejer", "costura": "coser",
        "coser": "coser", "patinaje": "patinar", "carrera": "correr", "running": "correr trotar",
        "fotografía": "fotografiar", "boxeo": "boxear", "remo": "remar", "malabares": "malabarear",
        "ganchillo": "tejer", "danza": "bailar danzar", "buceo": "bucear", "escultura": "esculpir",
        "jardinería": "podar", "traducción": "traducir", "composición": "componer", "redacción": "redactar",
        "mecanografía": "teclear", "estiramientos": "estirar", "bordado": "bordar", "repostería": "hornear",
        "esquí": "esquiar", "surf": "surfear", "senderismo": "caminar", "caminar": "caminar", "tejido": "tejer",
        "improvisación": "improvisar", "caligrafía": "caligrafiar",
    },
)  # fmt: skip
