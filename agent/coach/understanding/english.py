"""English: the words of its table. Data, no rules."""

from agent.coach.understanding.amount_words import ENGLISH_AMOUNTS
from agent.coach.understanding.tables import LanguageTable

ENGLISH = LanguageTable(
    code="en",
    amounts=ENGLISH_AMOUNTS,
    days={
        "today": 0, "tdy": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "this arvo": 0, "this avo": 0,
        "earlier today": 0, "just now": 0, "earlier": 0, "today's": 0, "yesterday": 1, "yday": 1, "ytd": 1, "yest": 1,
        "ystrday": 1, "yesty": 1, "ytday": 1, "yestday": 1, "night before last": 2, "the night before last": 2,
        "day before yest": 2, "day b 4 yest": 2,
        "yesti": 1, "yestie": 1, "ystd": 1, "ystdy": 1, "yestdy": 1, "yestrday": 1,
        "yersterday": 1, "yesterady": 1, "yesterdy": 1, "yestiday": 1, "day b 4 yesterday": 2,
        "the day b 4 yesterday": 2,
        "this morn": 0, "today morning": 0, "today evening": 0, "today afternoon": 0, "yesterday arvo": 1,
        "yesty arvo": 1,        "yesterday avo": 1, "last arvo": 1,
        "yesteday": 1, "yestarday": 1, "yesterdays": 1, "yesterday's": 1, "last night": 1,
        "last evening": 1, "last nite": 1, "this morning's": 0, "this afternoon's": 0, "this evening's": 0,
        "last night's": 1, "day before yesterday": 2, "the day before yesterday": 2,
    },
    open_days={
        "tonight": 0, "tonight's": 0, "tonite": 0, "2nite": 0,
    },
    parts=(
        "morning; afternoon; evening; night; arvo; avo; morn; noon; lunchtime; at lunch; in the morning; in the "
        "afternoon; in the evening; at night"
    ),
    weekdays={
        "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6, "mon": 0,
        "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4, "monday's": 0, "tuesday's": 1,
        "wednesday's": 2, "thursday's": 3, "friday's": 4, "saturday's": 5, "sunday's": 6, "tuseday": 1, "tusday": 1,
        "teusday": 1, "thurday": 3, "thirsday": 3, "wendsday": 2, "saturdy": 5,
        "wensday": 2,
        "wednsday": 2, "thrusday": 3, "saterday": 5,
    },
    months={
        "january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8,
        "september": 9, "october": 10, "november": 11, "december": 12, "jan": 1, "feb": 2, "mar": 3, "apr": 4,
        "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10, "nov": 11, "dec": 12,
    },
    times=(
        "in the morning; in the afternoon; in the evening; at night; at noon; at lunch; at lunchtime; at midnight; "
        "over lunch; during lunch; lunch break; my lunch break; my whole lunch break; coffee break; first thing; "
        "before bed; after dinner; before dinner; after lunch; before lunch; before school; after school; before "
        "work; after work; before breakfast; after breakfast; between classes; after class; late at night; early in "
        "the morning"
    ),
    periods=(
        "the other night; the other evening; t'other day; t'other night; earlier this week; earlier in the week; "
        "earlier this month; the start of the week; mid week; mid - week; midweek; at the start of the week; at the "
        "beginning of the week; my birthday; christmas; xmas; halloween; easter; new year's eve; new year's; in "
        "summer; in winter; in autumn; all weekend; a fortnight ago; fortnight ago; the day before; the day b 4; day "
        "before; day b 4; previous day; previous evening; previous night; before last; before yesterday; gone by; "
        "since monday; since tuesday; since wednesday; since thursday; since friday; since saturday; since sunday; "
        "last week; this week; last month; this month; last year; this year; the other day; last weekend; this "
        "weekend; the weekend; over the weekend; at the weekend; a few days ago; all week; recently; lately; these "
        "days; one day; last summer; last winter; once"
    ),
    vague=(
        "a bit; a little; a little bit; a while; some time; a few minutes; several minutes; some minutes; a few "
        "hours; several hours; hours; hours and hours; ages; all day; all morning; all afternoon; all evening; all "
        "night; the whole day; most of the day; most of the morning; most of the afternoon; most of the evening; half "
        "the day; half "
            "the morning; half the afternoon; the whole afternoon; the whole morning; the whole evening; the entire "
            "day; the entire "
        "afternoon; a few mins; for a while; forever; no idea how long; not sure how long; don't know how long; dunno "
        "how long; forgot how long; can't remember how long; don't remember how long; didn't time it; for ages; for a "
        "bit; for a little while; for some time; for hours; quite a while; a good while; lost track of time"
    ),
    phrases={
        "O": (
            "i reckon; i think it went; i think it's going; i think i'm; i think im; i'd say; i would say; and off to "
            "bed; and then bed; and then bed time; and to bed; i'd guess; can't believe; cant believe; if it helps; "
            "if you must know; if anyone cares; if you're interested; if that counts; if it counts; did not log; "
            "didn't log; didnt log; i did not log; i didn't log; i didnt log; have not logged; haven't logged; i "
            "haven't logged; didn't write down; i didn't write down; by the way; fyi; good morning; good evening; "
            "good afternoon; dear coach; hey coach; forgot to say; forgot to tell you; i forgot to say; i forgot to "
            "tell you; forgot to mention; i forgot to mention; i wanted to tell you; just to let you know; for the "
            "record; quick update; not bad; no worries; no problem; better than nothing; i guess; forgot to log; "
            "forgot to log it; i forgot to log it; forgot to put it in; i forgot to put it in; forgot to add it; "
            "please add it; log it please; please log it; can you log it; no excuses; not too bad; without stopping; "
            "non stop; no breaks; without a break; i'm proud; i am proud; on my own; lets go; let's go; no less; of "
            "course; good news; guess what; you know what; to be honest; no cap; for real; fr fr; believe it or not; "
            "as always; as usual; for once; for a change; on the bright side; not much; wasn't much; it wasn't much; "
            "it's not much; as planned; as promised; back at it; as agreed; nothing fancy; nothing special; nothing "
            "crazy; nothing major; nothing too fancy; nothing too crazy; not my best; not bad at all; not great; not "
            "great but; not much but; never felt better; no biggie; no pain no gain; no complaints; no distractions; "
            "no phone; no stopping; dear diary; no doubt; nice one; what a day; long day; rough day; good times; "
            "small win; little win; tiny win; didn't do much; didnt do much; did not do much; not a lot; wasn't a "
            "lot; didn't have much time; didnt have much time; not much time; it's me; its me; it's me again; its me "
            "again; quick one; thank you; thank you so much; thank you very much; thanks a lot; see you; voice "
            "message; years young; years old; year old; i'm back; im back; i'm back at it; im back at it; back on "
            "track; back in business; getting there; slowly but surely"
        ),
        "o": (
            "late entry; both done; all done; forgot to tell u; forgot 2 tell you; forgot 2 tell u; forgot to tell "
            "you; forgot to log; forgot to log it; forgot to mention; forgot to mention it; forgot 2 log; forgot 2 "
            "log it; i forgot to log it; i forgot to log; i forgot to tell you; i forgot to mention; forgot to say; i "
            "forgot to say; forgot to put it in; i forgot to put it in; forgot to add it; i forgot to add it; in the "
            "bag; in the books; done and dusted; under my belt; in the bank; in the can; out of the way; checked off; "
            "ticked off; that's my; thats my; that's it for; thats it for; that's all for; thats all for"
        ),
        "L": (
            "log it as; log it under; log under; log as; log that as; count it as; count that as; put it under; put "
            "it down as; file under; note down; write down; jot down; put down; mark me down for; put me down for; "
            "put me down as; mark down; put me in for; chalk up; chalk me up for; log me; put in the log; stick down; "
            "throw in; count me in for"
        ),
        "p": (
            "problem set; problem sets; problem sheet; flash cards; study session; study time; study group; listening "
            "comprehension; listening practice; listening exercises; reading practice; reading comprehension"
        ),
        "c": "followed by; as well as; and also",
        "C": "and then; and after that; after that; and afterwards; and later",
        "B": "even though; so that; even so",
        "t": "b 4; thanks to; in spite of",
        "R": "without; instead of; rather than; except; except for",
        "w": "to warm up; as a warm up; for fun; next door",
        "P": "w /; out of; in front of; on top of; next to; at the end of; at the start of",
        "v": (
            "popped in; slotted in; rattled through; ended up; wound up; worked on; sat down with; sat down at; sat "
            "down to; worked through; went through; did some; knocked out; banged out; powered through; got through; "
            "squeezed in; fit in; fitted in; got in; put in; snuck in; sneaked in; crammed in; messed around with; "
            "messed around on; messed around; fooled around with; noodled on; wrapped up; sat at; rattled off; "
            "blasted through; plowed through; got stuck into; i was; i was out; i was busy; i was at home; pushed "
            "through; ground out; cranked out; i've been at; been at; i was at it; sat down and; sat in; clocked in; "
            "chipped away at; plugged away at; plugging away at; hacked away at; hacked on; hammered away at; geeked "
            "out on; nerded out on; dug into; dove into; dived into; ran through; went over; went at; played around "
            "with; toyed with; tinkered with; fooled around on; messed about with; got stuck in to; churned out; "
            "racked up; notched up; hit the; blitzed through; crammed for; brushed up on; brushed up; caught up on; "
            "dabbled in; could only fit in; could only do; could only manage; could only get; could only squeeze in; "
            "could only spare; only managed; was only able to do; had a go at; had a go on; had a go with; had a "
            "crack at; managed to get; managed to do; managed to fit in; managed to squeeze in; managed to get in; "
            "managed to play; managed to practice; managed to practise; was able to do; got around to; got round to; "
            "got to do; managed to put in; managed to sneak in; managed to finish; went for; sat down to study; sat "
            "down to practice; sat down to practise; sat down to play; sat down to work on; sat down to draw; sat "
            "down to write; had my; been at it with; was able to get; was able to fit in; found time for; made time "
            "for; carved out; logged in"
        ),
        "I": "me i",
        "J": (
            "feeling great; feeling good; feeling proud; feels good; feels great; for the first time; for the day; in "
            "months; in weeks; in years; in ages; in days; in forever; for the first time in months; for the first "
            "time in weeks; for the first time in years; for the first time in ages; at last; at least; on my own; by "
            "myself; with my tutor; with my teacher; with a tutor; with a friend; with my friend; with friends; with "
            "my coach; with the band; with my band; with my group; with my class; all by myself; all alone; on the "
            "dot; of em; of them; of it; on the nose; on the clock; by noon; by lunch; by dinner; by bedtime"
        ),
        "F": (
            "or so; or thereabouts; give or take; in total; no time for more than; nothing more than; no more than; "
            "not more than"
        ),
    },
    twisted_phrases={
        "reminder": "call me; wake me up; todo list; to do list; don't let me forget; dont let me forget",
        "habit": (
            "back then; back in the day; a day; a week; a month; a night; per day; per week; each day; every day; "
            "every morning; each morning; per session; at a time; twice a; times a; used to; most days; as a rule; x "
            "week; x day; the old days; at age; at the age; per lesson; per class; in the 70 s; in the 80 s; in the "
            "90 s; the most i; the longest i"
        ),
        "future": (
            "going to; about to; next week; next month; next time; next year; to go; to do; in total to; this "
            "weekend; up next; is planned; to start; on my way; on my list; off to; heading to; headed to; here i "
            "come; coming up; this coming; in a bit; in a sec; in a min; in a minute; as soon as i've; as soon as i "
            "have; as soon as i get; as soon as i can; as soon as i finish; heading out; heading off; setting off; "
            "off for; off on; popping out; stepping out"
        ),
        "negated": (
            "blew off; bailed on; slacked off; instead i; not even; no time; zero minutes; 0 minutes; nothing at all; "
            "did nothing; no way; almost did; nearly did; almost practised; almost practiced; almost played; nearly "
            "practised; nearly practiced; nearly played; a while since; ages since; been a while; been ages; down the "
            "drain; got out of"
        ),
        "joke": (
            "woke up; not really; just kidding; only kidding; in my dreams; in my dream; in my head; in my mind; in "
            "theory; yeah right; sure jan; as if; said no one; april fools; my imagination; had you; got you; pulling "
            "your leg; not true; in a dream; a parallel universe; a parallel world; if only; that's a lie; it was not "
            "me; it wasn't me; wasn't me; was not me; air guitar; video game; in a game; said nobody; fat chance; in "
            "minecraft; yeah no; lol no; in your dreams; nice try; pull the other one"
        ),
        "wish": "had planned; meant to; up for; in the mood for",
        "doubt": (
            "the same; ditto; just under; just over; a bit over; a little over; a bit under; a little under; gave up "
            "after; stopped after; quit after; called it after; gave up at; bailed after; bailed at; tapped out "
            "after; still going; and counting; still at it; as a kid; as a child; as a boy; as a girl; as a teen; as "
            "a teenager; as a student; in high school; in college; in the eighties; in the nineties; in the sixties; "
            "in the seventies; my old flat; my old house; my old apartment; my old job; my old school; my youth; my "
            "childhood; the pandemic; the lockdown; both days; morning and evening; morning and night; half of it; "
            "half of that; half of which; most of it; more or less than; not sure; no idea; i think; or so they; or "
            "something; don't remember; do not remember; can't remember; or was it; or maybe; who knows; during "
            "lockdown; during the lockdown; during uni; during college; back at uni; back at school; back in school; "
            "back in high school; back in uni; back in college; at some point; before covid; before kids"
        ),
        "goal": (
            "my goal; my target; aim for; get to; want to reach; want to hit; want to get to; like to reach; like to "
            "hit"
        ),
        "reported": (
            "according to; my teacher says; my coach says; e . g .; e . g; in the video; in the film; in the movie; "
            "in the book"
        ),
        "others": "my friend; little one; my team; our team; the team; your team",
        "lasts": (
            "go out; go home; go kart; pokemon go; let it go; minutes long; hours long; min long; minute long; minute "
            "drive; minute walk; minute video; sat through; sat in on; sat outside; sat around; sat next; sat by; sat "
            "in front; sat in traffic; sat on the; slept through; took up; stood in; stood outside; stuck in; stuck "
            "at; got stuck; got stuck in traffic; ran out of; ran into; ran late; running late; ran errands"
        ),
        "hypothetical": "had i; were i; what if; in case; as long as; imagine if",
        "unclear": "more than; less than; at most; up to; or more; or less",
        "command": "by accident; by mistake; in error",
    },
    roles={
        "I": "i",
        "H": "have",
        "A": "i've ive",
        "J": (
            "indoor outdoor up just also finally only alone straight nonstop first too together that's thats already "
            "still actually even really somehow basically literally today again successfully proudly quickly "
            "definitely certainly down easy flat tops super pretty quite mostly online indoors outdoors upstairs"
        ),
        "O": (
            "um uh er hi hey hello heya hiya yo ok okay okey k kk well alright right please pls plz yes yep yeah yup "
            "great cool nice coach bot bro dude man mate friend buddy thanks thank thx ty you'll lol haha hehe phew "
            "wow yay woo woohoo hooray update hmm oh ah whew anyway btw tho though anyways ugh oof damn gosh honestly "
            "folks team sir ngl fr frfr tbh imo imho rn lmao lmfao rofl omg bruh dang sheesh hmmm dear kindly aye "
            "welp morning evening afternoon noon lunchtime meh bleh pff puff eh heh woot boom bam whoop whoops hmph "
            "yikes lmk psa google siri alexa bye goodbye report crikey blimey shoot dammit dangit yessir alrighty "
            "righto sup hullo"
        ),
        ".": "period",
        ",": "comma",
        "L": "log add record register track note enter logging registering",
        "f": "get squeeze complete revise rehearse tackle memorise memorize",
        "V": (
            "practised practiced practicd pratised praticed practsed rehearsed strummed plucked bowed tooted noodled "
            "shredded"
        ),
        "v": (
            "enjoyed stayed played studied did trained drilled worked jammed managed logged clocked learned learnt "
            "revised reviewed tackled grinded ground hit picked spent devoted dedicated invested went squeezed "
            "crammed snuck smashed nailed crushed sat hammered knocked whittled grafted recited plugged hacked geeked "
            "nerded tinkered banged blew pounded thumped slogged memorised memorized conjugated threw kicked sparred "
            "dribbled debugged analysed analyzed hiked lifted stitched bashed whacked smacked thrashed battered "
            "fiddled crooned belted hummed"
        ),
        "g": "got put",
        "G": (
            "practising practicing playing studying rehearsing drilling doing working jamming learning revising "
            "reviewing polishing noodling strumming shredding doodling messing grinding hacking tinkering plucking "
            "bashing banging fiddling rattling hammering plugging slogging powering"
        ),
        "o": "done finished completed ✅ ☑ ✔ ✓",
        "F": (
            "further additional for about worth around roughly nearly almost approximately approx like ~ ≈ exactly "
            "another over circa solid good full whole"
        ),
        "p": (
            "sesh seshes speaking riyaz riyaaz pset psets prep conversation conversations dictation dictations "
            "exchange practice practise session sessions exercises exercise drills workout drill studies training "
            "work scale scales chord chords arpeggio arpeggios puzzle puzzles opening openings endgame endgames "
            "tactics warmup warmups technique techniques grammar vocab vocabulary problems basics kata katas reps "
            "lines flashcards flashcard paradiddles rudiments etude etudes riffs riff licks lick laps sprints "
            "intervals sparring bagwork footwork sketches gesture gestures verbs conjugations kanji hiragana katakana "
            "metronome sightreading improvisation improv voicings fingerpicking barre studio gym dojo rink court "
            "range pomodoros pomodoro stitches poses asanas fundamentals essentials worksheet worksheets "
            "pronunciation anki duolingo jazz blues bach chopin mozart beethoven rounds lengths sets routine routines"
        ),
        "P": (
            "of on at with w to through into from via using by near along against outside inside during throughout "
            "out off between"
        ),
        "T": (
            "the my some an a this that more actual real proper pure focused all own decent quick short long lovely "
            "brief intense hard tough"
        ),
        "c": "and plus & + n nd /",
        "C": "then afterwards",
        "B": "but so because cause cuz coz as although however yet therefore hence",
        "t": "whilst while before after b4 until despite since",
        "i": "in",
    },
    twists={
        "negated": (
            "no not never none nothing without nor neither don't dont didn't didnt doesn't doesnt haven't havent "
            "hasn't hadn't isn't wasn't weren't aren't won't wont can't cant cannot couldn't couldnt shouldn't "
            "wouldn't ain't nope nah skipped skip skipping missed miss cancelled canceled failed forgot forgotten "
            "postponed undone nobody neglected refused avoided quit stopped instead zero barely ❌ 🚫 ✖ ✗ ✘ faked "
            "dodged shirked ditched"
        ),
        "future": (
            "owe owed will i'll shall gonna going tomorrow tmrw tmr tomorow soon later next upcoming eventually i'm "
            "im ready starting planning plan plans planned due pending remaining remain remains left booked promise "
            "someday sometime promised scheduled schedule agenda we'll let let's lets begin beginning calendar ☐ 🔲 ⬜ "
            "⏳ ⏰ 🔜 📅"
        ),
        "wish": (
            "want wants wanted wish wishes hope hopes hoped hoping would could should might may must ought need needs "
            "needing i'd try trying tried attempt attempted prefer supposed wanna hafta gotta should've would've "
            "could've ideally intend intended rather fancy feel-like dying tempted thinking considering"
        ),
        "goal": "goal goals aim aiming target targets objective challenge",
        "habit": (
            "apiece daily weekly monthly yearly every each per usually normally typically generally always often "
            "sometimes rarely mondays tuesdays wednesdays thursdays fridays saturdays sundays weekdays weekends "
            "mornings evenings nights days weeks months years average times practices regularly minute's"
        ),
        "reminder": (
            "reminding remind reminds reminder reminders alarm timer timers countdown snooze wake ping notify nudge "
            "alert"
        ),
        "hypothetical": (
            "if whether unless imagine imagined imagining suppose supposing pretend pretended pretending "
            "hypothetically theoretically assuming otherwise"
        ),
        "doubt": (
            "maybe perhaps possibly probably supposedly guess think thought believe or either luck hopefully "
            "allegedly apparently"
        ),
        "reported": (
            "says said say saying tells told wrote writes claims claimed asked asks asking heard reckons swears "
            "insists typed quote quoted example instance posted tweeted texted"
        ),
        "joke": (
            "kidding kiddin joking joke jk lie lied lying liar fake dream dreamt dreamed dreams psych psyche jokes "
            "sarcasm imaginary fiction fantasy 🙄 🤥 😜 😉 😏 virtually hero minecraft"
        ),
        "command": (
            "give undo delete remove ignore forget erase cancel stop change edit rename archive scratch retract type "
            "export import set start accidentally mistakenly"
        ),
        "others": (
            "he she we they you us them him her his hers its our your their he's she's they're we're someone somebody "
            "everyone everybody anyone people who whom whose which brother sister son daughter wife husband mother "
            "father mom mum dad kid kids child children baby boss teacher teachers student students neighbour "
            "neighbor neighbours neighbors cat dog grandson granddaughter grandma grandpa uncle aunt cousin coworker "
            "colleague roommate boyfriend girlfriend partner whoever tutor instructor band choir orchestra guys bf gf "
            "sis hubby sons daughters brothers sisters class grandkids nephew niece stepson stepdaughter fiance "
            "fiancee mates buddies crew teammate teammates"
        ),
        "lasts": (
            "sleep twitch tiles telly interview youtube netflix spotify tv recording recordings simulator playlist is "
            "are am be been being were takes took taking take last lasts lasted starts started begins began ends "
            "ended cost costs lesson lessons classes course courses video videos tutorial tutorials film movie movies "
            "concert concerts podcast podcasts episode episodes album meeting meetings appointment exam exams test "
            "tests flight bus train drive driving drove commute ride journey trip break breaks rest nap queue delay "
            "late early watching watch listen listened listening app shop store shopping closes opens song songs "
            "documentary show meetup lecture gig recital audition walk price euros dollars pounds costing slept "
            "sleeping rested trailer game match has does do have's isnt solo solos forum forums tournament "
            "tournaments matches stores camp rehearsal rehearsals musical opera play shows gigs lectures seminar "
            "webinar workshop talks advert ads ad commercial article magazine piece pieces replay replays final "
            "finals wasted lost stood napped commuted travelled traveled queued stared cried complained ranted argued "
            "chatted scrolled dusted packed unpacked lugged hauled shipped delivered assembled borrowed lent rented "
            "broke filmed paid owed charged saved overslept stuck traffic dinner seasons season livestream stream "
            "streams vlog reel reels audiobook soundtrack lyrics sushi groceries laundry dishes hated served survived "
            "endured visited called emailed ordered returned washed ironed vacuumed mowed parked installed downloaded "
            "uploaded liked followed subscribed googled restrung explored compared priced haggled unboxed wired "
            "soldered stained sanded varnished waxed oiled adjusted inspected examined demoed admired wandered hugged "
            "insured appraised decorated"
        ),
        "question": "how what why where when who's what's whats how's hows where's can",
        "self": "me myself mine",
        "unclear": (
            "homework teaching selling sitting giving getting making paying needed less fewer least most enough many "
            "lot lots limit max maximum minimum streak total half quarter twice thrice once seconds second secs sec "
            "hours hour minutes minute mins tuning tuned cleaning cleaned repairing repaired fixing fixed buying "
            "bought selling sold restringing looking finding found away happen happens happened happening waiting "
            "waited carrying carried talking talked among under upto within than was it's it there's here there talk "
            "research researched researching browsing browsed searching searched ago sounds seems looks feels sound "
            "seem look sucks rocks kills means mean counts count become became theory maintenance repair sick ill "
            "watched recorded organised organized sorted tidied rearranged discussed explained taught coached graded "
            "hosted attended joined signed read reading polished required mandatory compulsory"
        ),
    },
    acts={
        "running": "run jog", "drawing": "draw sketch doodle", "meditation": "meditate", "singing": "sing",
        "programming": "code program", "coding": "program code", "writing": "write journal", "reading": "read",
        "swimming": "swim", "painting": "paint", "dancing": "dance", "dance": "dance", "cooking": "cook",
        "cycling": "bike cycle", "climbing": "climb boulder", "bouldering": "climb", "knitting": "knit",
        "juggling": "juggle", "typing": "type", "skating": "skate", "skateboarding": "skate", "rowing": "row",
        "photography": "photograph", "boxing": "box", "drums": "drum", "drumming": "drum", "gardening": "garden",
        "stretching": "stretch", "sewing": "sew", "crochet": "crochet", "sketching": "draw", "surfing": "surf",
        "skiing": "ski", "embroidery": "embroider", "baking": "bake", "walking": "walk", "hiking": "hike",
        "weightlifting": "lift", "sculpting": "sculpt", "sculpture": "sculpt", "weaving": "weave", "quilting": "quilt",
        "carving": "carve", "fencing": "fence", "whittling": "whittle", "sailing": "sail", "riding": "ride",
        "wrestling": "wrestle", "kayaking": "kayak", "animation": "animate", "translation": "translate",
        "improvisation": "improvise", "composition": "compose", "journaling": "journal", "beatboxing": "beatbox",
    },
)  # fmt: skip
