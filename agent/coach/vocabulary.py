"""What the words of a sentence about practice can be, in English and Spanish: one letter a class. Data, no rules.

A word that stands in no list is content (`w`): the name of a skill, or a word of a note. A word that could turn what is
said into something else than one's own past practice stands under `x`, and no shape has a place for it.
"""

CONTENT, NUMBER, OTHER = "w", "n", "x"

_LISTS = {
    "I": "i yo",
    "H": "have",
    "h": "he",  # Spanish; the English "he" is followed by no Spanish participle
    "J": "just also finally only already ya también tambien solo sólo recién recien finalmente",
    "O": "hi hey hello ok okay well alright please yes yep great hola buenas buenos "
    "vale bueno bien oye sí porfa favor por",
    "L": "log add record register track anota apunta registra apúntame anótame apuntame anotame",
    "V": "practised practiced practiqué",
    "v": "played studied did rehearsed trained drilled worked completed finished toqué estudié hice trabajé "
    "entrené ensayé repasé completé jugué",
    "s": "spent dediqué pasé",
    "Q": "practicado",
    "q": "tocado estudiado hecho ensayado entrenado trabajado repasado dedicado pasado jugado",
    "A": "acabo",
    "N": "no not nope",
    "G": "practising practicing playing studying rehearsing training drilling practicando tocando estudiando ensayando "
    "entrenando repasando",
    "F": "for about around roughly nearly almost approximately durante unos unas casi aproximadamente",
    "E": "practicar tocar estudiar ensayar entrenar repasar",
    "p": "practice practise session sesión sesion práctica practica",
    "i": "in",
    "P": "of on at with to de del con a al en",
    "T": "the my some an la el las los mi un una",
    "c": "and y doing focusing working",
    "R": "actually sorry oops correction perdón perdon corrección correccion realidad",
    "W": "wait espera",
    "t": "it that",
    "b": "was eran fueron fue",
    "m": "meant decir",
    "k": "make change quise quería queria cambia cámbialo cambialo corrige",
    "r": "instead rather vez",
    ",": ", : ; ( ) - – — | . !",
    '"': '" “ ” « »',
    "?": "? ¿",
}

_NOT_ONESELF = """
he's she we they you us them him her his its our your their someone somebody everyone anyone people who whom
whose which friend friends brother sister son daughter wife husband mother father mom mum dad kid kids child
children baby boss teacher's student students coach's neighbour neighbor band's tú tu tus usted ustedes él ella
ellos ellas nosotros nosotras vosotros nos os le les su sus se te quien quién alguien nadie hermano hermana hijo
hija hijos esposa esposo mujer marido madre padre mamá papá amigo amiga amigos niño niña
"""
_NOT_DONE = """
never none nothing without nor neither nunca jamás jamas nada sin tampoco ni ninguno ninguna ningún ningun will
would should could can may might must shall ought need needs needed want wants wanted wish wishes hope hopes
hoped plan plans planned planning intend intended going gonna try trying tried attempt aim aiming goal goals
target due pending supposed promise promised scheduled schedule booked missed skipped cancelled canceled failed
forgot forgotten postponed undone left remaining remain remains still yet tomorrow soon later next
upcoming eventually today's daily weekly monthly yearly every each per week weeks month months year years
weekend day days night nights voy va vas vamos quiero quieres quisiera querría querria puedo puedes podría
podria debo debería deberia debes tengo tienes tiene hay habrá habra habría habria haré hare hará hara haría
haria espero intento intenté intente pienso planeo planeé planeado programado previsto reservado prometí prometi
pendiente pendientes falta faltan faltaba faltaron queda quedan quedaba mañana manana luego después despues
próximo próxima proximo proxima pronto diario diaria diarios cada semana semanas mes meses año años ano anos día
días dia dias noche noches finde meta objetivo cancelado cancelada perdido perdida fallé falle olvidé olvide
salté aplazado
"""
_NOT_SAID = """
if whether unless when whenever while until till before after since because so but or than that's though
although as like how what why where whats question maybe perhaps possibly probably supposedly guess think
thought believe suppose imagine pretend joking kidding lie lied lying false fake dream dreamt dreamed dreams
hypothetically example instance si cuando mientras hasta antes desde porque pero o que qué como cómo aunque
donde dónde cuánto cuanto cuántos cuantos cuánta cuántas quizá quizás quiza quizas tal acaso creo creía supongo
imagino imagina broma mentira mentí falso sueño soñé sueños ejemplo según segun
"""
_NOT_PRACTICE = """
is are am be been being were do does don't had has having get gets got getting go goes went gone come comes came
let lets take takes took taking taken last lasts lasted start starts started begin begins began end ends ended
cost costs sound sounds seem seems look looks looking feel feels felt mean means say says said tell tells told
ask asked hear heard help helps wait waited waiting know knows knew make makes made give gives gave find found
buy buying bought sell selling sold watch watched watching listen listened listening read reading see saw seen
remind reminds reminder reminders remember alarm timer timers countdown snooze call wake meeting meetings lesson
lessons class classes course courses video videos tutorial tutorials film movie movies concert concerts show
shows podcast episode album song's break breaks rest nap drive driving drove commute travel travelling ride walk
train bus flight away late early ago within under over more less fewer least most enough too much many lot lots
limit max maximum min minimum record's streak average total price euros euro dollars dollar pounds appointment
exam exams test tests repair repairing repaired tuning cleaning cleaned setting es son está están esta estan
estaba era eres estoy sea ser estar ha han hemos había habia haber hizo hace hacen hacer dura duran duró duro
tarda tardé tarde tardo tardó cuesta cuestan parece parecen suena suenan significa dice dicen dijo dije ayuda
ayudó empieza empezó comienza comenzó termina terminó acaba acabó necesito necesita vale sirve basta vi ver veo
viendo escuché escuche escuchar escuchando leí leer leyendo compré comprar comprando vendí vender recuérdame
recuerdame recordatorio recuerda avísame avisame alarma temporizador despiértame clase clases lección leccion
lecciones curso cursos película pelicula concierto vídeo vídeos episodio pausa pausas descanso siesta viaje
viajé conduje autobús tren vuelo lejos temprano dentro menos más mas mucho muchos muy demasiado bastante máximo
maximo mínimo minimo racha promedio precio cita examen exámenes prueba pruebas reparar reparando afinar afinando
me this these those there here him one ones up out off into onto from by in against among between esto este esos
esas eso ese esa aquello allí aqui aquí ahí para hour hours minute minutes second seconds hora horas minuto
minutos segundo segundos half quarter twice once times
"""

PHRASES = {
    "por favor": "favor",
    "en realidad": "realidad",
    "mejor dicho": "realidad",
    "en vez de": "vez",
    "instead of": "instead",
    "rather than": "rather",
}
"""Words that mean something only together, and the word that stands for them."""

CLASSES: dict[str, str] = {
    **dict.fromkeys(f"{_NOT_ONESELF} {_NOT_DONE} {_NOT_SAID} {_NOT_PRACTICE}".split(), OTHER),
    **{word: letter for letter, words in _LISTS.items() for word in words.split()},
    "i've": "IH",
}
"""From a word, case-folded, to the letters of its class."""
