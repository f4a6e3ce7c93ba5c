"""The shapes of a statement about one's own practice, spelled with the roles of its words: what is allowed.

Every repetition is possessive or bounded, so that no message makes them slow. What they mean is `statements`'.
"""

import re

_ADVERBS = "J*+"
_AMOUNT = "[FTJ]*+[dDa]"
_AMOUNT_TERSE = "[FJ]*+[dDa]"  # "a 12 minute piano piece" is no log
_AMOUNT_LATER = "[FTJ]*+[dDan]"
_DAYS = "(?:,?[PF]?[YyK])*+"
_SKILL = "[PTpGi]*+[Sj](?:w{0,2}p|w{0,2})(?:Pw)?"
_SKILL_SHORT = "[PTpGi]*+[Sj](?:w?p|w?)"
_NAME = '(?:"w{1,4}"|[Tp]*+w{1,3}p?)'
_OPENING = "[OJ,]*+"

_BY = "(?:I?J*+[Vvo]J*+G?|(?:A|IH)J*+[Vvo]J*+|hJ*+[Qqo]J*+|EPf|I?J*+WJ*+G|I?J*+s|(?:A|IH)J*+s)"
"""That its speaker did it: "I have just practised", "he practicado", "acabo de practicar", "estuve"."""

_SURELY_BY = "(?:I?J*+VJ*+|(?:A|IH)J*+VJ*+|hJ*+QJ*+|EPf)"
_SEPARATOR = "(?:,?[cC]++,?|,)J*+"
_DID = "(?:h[Qqo]|I?J*+v)?"
_ENDS = '(?=[,.cCBPtGJiITOo"?K]|$)'
_ENDS_SPOKEN = f"(?:{_ENDS}|(?<=[dDaYyKSjw])(?=w))"


def _spoken_shape(amount: str) -> str:
    """What is said of one stretch, by somebody who did it."""
    shapes = (
        f"{_BY}[FPT]*+{_SKILL},?{_DAYS},?{amount}",
        f"{_BY},?{amount}{_DAYS}{_ADVERBS}[iP]?f?{_SKILL}",
        f"I?J*+gi?{amount}{_DAYS}{_SKILL}{_DAYS}[io]",
        f"I?J*+WPT?[Sj]G{_DAYS},?{amount}",
        f"I?J*+eP?T?[Sj]{_DAYS}{amount}",
        f"(?:I?|A|IH)J*+k(?:[PTi]*+Sw{{0,2}})?,?{_DAYS},?{amount}",
    )
    return f"(?:{'|'.join(shapes)})"


def _terse_shape(skill: str, amount: str) -> str:
    """What is written of one stretch, as in a log book."""
    return f"(?:{amount}{_DAYS}{_SKILL}|T?{skill},?{_DAYS},?{amount})"


_LATER = f"(?:{_spoken_shape(_AMOUNT_LATER)}|{_terse_shape(_SKILL, _AMOUNT_LATER)})"
_MORE = f"(?:{_SEPARATOR}{_DAYS},?{_LATER}{_DAYS}){{0,9}}"

SPOKEN = re.compile(f"{_DAYS},?{_spoken_shape(_AMOUNT)}{_DAYS}{_MORE}o?{_ENDS_SPOKEN}")
"""One or more stretches that somebody says they did."""

TERSE = re.compile(
    f"{_DAYS},?L?,?{_terse_shape(_SKILL_SHORT, _AMOUNT_TERSE)}{_DAYS}{_MORE}"
    f"(?P<did>{_DID}){_DAYS}(?:,?(?P<done>o{{1,3}}))?(?:{_ENDS}|(?<=o))"
)
"""One or more as in a log book; "did" and "done" say that they are behind one."""

NEW_SPOKEN = re.compile(
    f"{_DAYS},?(?:{_BY}[FPT]*+{_NAME},?{_DAYS},?{_AMOUNT}|{_BY}{_AMOUNT}{_DAYS}[PTpG]++{_NAME}|I?J*+k{_AMOUNT})"
    f"{_DAYS}o?(?=[,.BtPO]|$)"
)
"""Said of a name that is none of theirs yet."""

NEW_TERSE = re.compile(
    f"{_DAYS},?L?,?(?:{_AMOUNT}P[PTp]*+{_NAME}|d{_NAME}|T?w{{1,2}},?d|w{{1,2}}p{_DAYS},?[dD]){_DAYS}o?(?=[,.tB]|$)"
)

NO_SKILL = re.compile(f"{_DAYS},?{_SURELY_BY}{_DAYS}{_AMOUNT}{_DAYS}(?=[,.OJcCBt]|$)")
"""Surely practice; of what is not said."""

DID_AMOUNT = re.compile(f"{_DAYS},?{_BY}{_AMOUNT_LATER}{_DAYS}(?=[,.OJcCBt]|$)")
"""Something was done for so long; of what is not said."""

_HOW_LONG = "[FT]*+m"
VAGUE = re.compile(
    f"{_DAYS},?(?:{_BY}?{_HOW_LONG}{_DAYS}{_SKILL}|{_BY}?{_SKILL}{_DAYS}{_HOW_LONG}){_DAYS}(?=[,.IBOJ]|$)"
)
"""How long is said, but is no number."""

NO_AMOUNT = re.compile(f"{_DAYS},?(?:{_BY}{_SKILL}|I?J*+eP?[Sj]|I?J*+k(?:{_HOW_LONG}|nw)?){_DAYS}(?=[,.OJ]|$)")
"""How long is not said."""

BARE = re.compile(f"{_OPENING}L?{_OPENING}{_DAYS},?{_AMOUNT}{_DAYS}(?:PT?p{_DAYS})?[,.OJ]*+")
"""An amount and nothing else."""

ANOTHER = re.compile("[cC],?[PF]?[Yy](?:[,.]|$)|[cC][PTp]*+[Sj]|,[PT]*+S(?![wpP]*+,?[FT]*+[dDan])")
"""Behind a statement: one more skill, of which nobody knows how long."""

NOTED = re.compile("[^dDYyK]*+D[^dDSjYyK]*+[Sj]w[^dYyK]*+")
"""As "45 minutes of guitar beckons": what stands behind the skill may be a verb."""

ANOTHER_NAME = re.compile("[cC]T*+w(?:[,.]|$)")
CLAUSE = re.compile("(?:^|(?<=[,.cCBOJo]))")
"""Where a statement may begin."""

LEAD = re.compile("[OJYyK,]*+(?:[PtiF][TFJ]*+[wpYyK]{1,4},?){1,3}J*+")
"""Where and when it was, before a statement: no more than that."""

BETWEEN = re.compile(",?(?:[OJYyK,]*+(?:[PtiF][TFJ]*+[wpYyK]{1,4},?){0,3}J*+)")
"""Between a day and a statement: no more than where and when."""

LEADING = re.compile("[OLopcJ,.]*+")
"""What may stand before a log book's line."""
