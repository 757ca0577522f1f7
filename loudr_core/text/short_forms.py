"""English short forms and what they stand for, without their stops.

Where each is read, and whether its stop stays, `abbreviations` says.
"""

__all__ = [
    "BEFORE_FIGURE",
    "BEFORE_ROMAN",
    "ENDINGS",
    "LETTER_WORDS",
    "MONTHS",
    "NAMES",
    "NEEDS_NAME_BEFORE",
    "PHRASES",
    "SCRIPTURE",
    "SHORT_DAYS",
    "SHORT_MONTHS",
    "TITLES",
]

TITLES = {
    "Mr": "Mister", "Mrs": "Missus", "Ms": "Miz", "Dr": "Doctor", "Prof": "Professor",
    "Messrs": "Messers", "MM": "Messieurs", "Mme": "Madame", "Mlle": "Mademoiselle",
    "Capt": "Captain", "Lieut": "Lieutenant", "Lt": "Lieutenant", "Col": "Colonel",
    "Gen": "General", "Maj": "Major", "Sgt": "Sergeant", "Sergt": "Sergeant",
    "Cpl": "Corporal", "Pvt": "Private",
    "Cmdr": "Commander", "Adm": "Admiral", "Rev": "Reverend", "Revd": "Reverend",
    "Hon": "Honorable", "Gov": "Governor", "Sen": "Senator", "Rep": "Representative",
    "Pres": "President", "Supt": "Superintendent", "Insp": "Inspector", "Det": "Detective",
    "Fr": "Father", "Mt": "Mount", "Ft": "Fort", "Ste": "Sainte", "Brig": "Brigadier",
    "Rt": "Right", "Sts": "Saints",
}  # fmt: skip
"""Before a name: none ends a sentence."""
ENDINGS = {
    "etc": "et cetera", "Jr": "Junior", "Sr": "Senior", "Esq": "Esquire", "Co": "Company",
    "Ltd": "Limited", "Inc": "Incorporated", "Corp": "Corporation", "Bros": "Brothers",
    "Ave": "Avenue", "Rd": "Road", "Blvd": "Boulevard", "Dept": "Department", "Sq": "Square",
    "Ph.D": "P H D", "M.D": "M D", "Assn": "Association",
    "Regt": "Regiment", "Univ": "University", "Govt": "Government",
}  # fmt: skip
"""Ends a sentence or not: the stop may stay."""
NAMES = {
    "Benj": "Benjamin", "Chas": "Charles", "Danl": "Daniel", "Edw": "Edward", "Geo": "George",
    "Jas": "James", "Jno": "John", "Nath": "Nathaniel", "Richd": "Richard", "Robt": "Robert",
    "Saml": "Samuel", "Thos": "Thomas", "Wm": "William",
}  # fmt: skip
"""Given names as older books shorten them, before a surname."""
SCRIPTURE = {
    "Gen": "Genesis", "Exod": "Exodus", "Lev": "Leviticus", "Deut": "Deuteronomy",
    "Josh": "Joshua", "Judg": "Judges", "Sam": "Samuel", "Chron": "Chronicles", "Ps": "Psalm",
    "Prov": "Proverbs", "Eccl": "Ecclesiastes", "Isa": "Isaiah", "Jer": "Jeremiah",
    "Ezek": "Ezekiel", "Dan": "Daniel", "Zech": "Zechariah", "Mal": "Malachi", "Matt": "Matthew",
    "Rom": "Romans", "Cor": "Corinthians", "Gal": "Galatians", "Eph": "Ephesians",
    "Phil": "Philippians", "Thess": "Thessalonians", "Tim": "Timothy", "Heb": "Hebrews",
    "Rev": "Revelation",
}  # fmt: skip
"""Books of the Bible, before chapter and verse."""
LETTER_WORDS = {
    "inst": "instant", "ult": "ultimo", "prox": "proximo", "obt": "obedient", "obdt": "obedient",
    "servt": "servant",
}  # fmt: skip
"""As letters of the eighteenth and nineteenth century are dated and signed."""
NEEDS_NAME_BEFORE = frozenset({"Jr", "Sr", "Ave", "Rd", "Blvd", "Co", "Bros", "Sq", "Inc", "Corp"})
"""Of the endings, those that are words unless a name stands before them."""
PHRASES = {
    "e.g.": "for example", "i.e.": "that is", "viz.": "namely", "cf.": "compare",
    "vs.": "versus", "ibid.": "ibidem", "et al.": "and others", "approx.": "approximately",
    "N.B.": "nota bene", "P.S.": "P S", "op. cit.": "op cit", "&c.": "et cetera",
    "&c": "et cetera", "o'er": "o'er", "q.v.": "which see", "a.k.a.": "also known as",
}  # fmt: skip
"""With their stops; said in full wherever they stand."""
MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
]  # fmt: skip
"""January first."""
SHORT_MONTHS = {name[:3]: name for name in MONTHS if len(name) > 4} | {"Sept": "September"}
"""With a stop or beside a figure."""
SHORT_DAYS = {
    "Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday",
    "Thu": "Thursday", "Thur": "Thursday", "Thurs": "Thursday", "Fri": "Friday",
    "Sat": "Saturday", "Sun": "Sunday",
}  # fmt: skip
"""With a stop."""
BEFORE_FIGURE = {
    "pp": "pages", "p": "page", "vol": "volume", "vols": "volumes", "ch": "chapter",
    "chap": "chapter", "chaps": "chapters", "fig": "figure", "figs": "figures", "no": "number",
    "nos": "numbers", "sec": "section", "art": "article", "bk": "book", "pt": "part",
    "ca": "circa", "c": "circa", "l": "line", "ll": "lines", "par": "paragraph",
}  # fmt: skip
"""References, before a figure."""
BEFORE_ROMAN = frozenset(
    {"vol", "vols", "ch", "chap", "chaps", "bk", "pt", "fig", "figs", "sec", "art", "p", "pp"}
)
"""References that a roman numeral may follow, too."""
