"""English words that the rules of several modules look for or steer around."""

import re

__all__ = [
    "ACRONYMS",
    "ANSWERED",
    "BEFORE_SAINT",
    "COUNTABLES",
    "COUNTED",
    "MONARCHS",
    "SAINTS",
    "SHORT_WORDS",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ACRONYMS = _words(
    "ABC ADHD AI AIDS ATM BA BBC BC BCE CBS CCTV CD CE CEO CFO CIA CNN CPR CT CTO DC DIY DNA "
    "DVD EEG ER ESP ETA EU FBI FDR FM GDR GI GMT GP GPS HIV HMS HQ HR HTML IBM ICU ID IOU IQ "
    "IRA ITV JFK KGB KKK KO LA LAPD LSD MA MD MI MIA MP MPS MRI NASA NATO NB NBC NHS NY NYPD "
    "AKA ECG EKG ESPN FAQ ISBN ISSN MIT SAS UCLA "
    "OCD OK OPEC PC PDF PHD PM POW PR PS PTSD RAC RAF RIP RNA RSVP SOS SS SUV SWAT TLC TNT TV "
    "UFO UK UN UNESCO UNICEF URL USA USS USSR VIP XL YMCA YWCA"
)
"""Said by letters, or known to engines as they stand."""
ANSWERED = re.compile(r"\b(?:say|says|said|saying|answer|answers|answered|replied)\s+['\"]?$", re.I)
"""What ends before a "no." that is an answer and no number."""
BEFORE_SAINT = _words(
    "And As At Big But By Dr For From Great He Her His In Is It Lady Little Miss Mount Mr Mrs "
    "My Near New Of Old On Or Our Saint She Sir So That The Then They This To Was We When "
    "With"
)
"""Words before "St." that are no street's name, capital or not."""
COUNTABLES = _words(
    "acres books calories cattle children cm copies crowns days dead degrees dollars feet "
    "foot francs ft guns head horses hours inhabitants items kg kilometers km lb lbs m men "
    "meters mi miles minutes mm months more or others pages people per percent pounds rounds "
    "seconds sheep ships soldiers souls times tons troops volts watts women words yards yds "
    "years"
)
"""After one of these a four-figure number is no year."""
COUNTED = _words(
    "Act Apollo Appendix Army Article Book Books Bowl Canto Chap Chapter Chapters Class Corps "
    "Cycle Dialogue Division Eclogue Elegy Episode Epistle Exercise Fig Figure Fragment "
    "Lecture Lesson Letter Mark Note Number Ode Page Pages Paper Part Parts Phase Plate Psalm "
    "Rule Satire Scene Section Series Sonnet Stage Stanza Stave Table Title Type Verse Vol "
    "Volume Volumes War"
)
"""What is numbered in cardinals: Chapter Four."""
MONARCHS = _words(
    "Adrian Afonso Albert Alexander Alfonso Amadeus Amenhotep Andronicus Anne Antiochus "
    "Artaxerxes Baldwin Basil Benedict Boniface Callixtus Carlos Casimir Catherine Celestine "
    "Charlemagne Charles Christian Christina Clement Cleopatra Constantine Cyrus Darius David "
    "Edmund Edward Elizabeth Emmanuel Eric Eugene Ferdinand Francis Franz Frederick Friedrich "
    "George Gregory Gustav Gustavus Haakon Hadrian Harald Harold Heinrich Henry Honorius "
    "Humbert Innocent Isabella Ivan James John Joseph Juan Julius Justinian Karl Ladislaus "
    "Leo Leopold Louis Ludwig Malcolm Manuel Margaret Martin Mary Matthias Maximilian Mehmed "
    "Michael Mithridates Murad Napoleon Nicephorus Nicholas Nicolas Olaf Oscar Otto Paul "
    "Pedro Peter Philip Pius Ptolemy Rameses Ramesses Ramses Richard Robert Roger Romanus "
    "Rudolf Rudolph Selassie Seleucus Selim Seti Sigismund Sixtus Stephen Suleiman Theodosius "
    "Thutmose Umberto Urban Valdemar Vladislav Wilhelm William Xerxes"
)
"""Names whose numerals are ordinals: Louis the Fourteenth."""
SAINTS = _words(
    "Agnes Alban Albans Andrew Andrews Ann Anne Anthony Antoine Augustine Benedict Bernard "
    "Catherine Cecilia Clair Clement Cloud Croix David Denis Dominic Edmund Elmo Francis "
    "Gallen George Germain Giles Helen Helena Helens Ignatius Ives James Jerome Joan John "
    "Johns Joseph Kitts Lawrence Leonards Louis Lucia Luke Mark Martin Mary Matthew Michael "
    "Moritz Nicholas Pancras Patrick Paul Peter Petersburg Stephen Swithin Thomas Valentine "
    "Vincent"
)
"""Saints: "St." before one of them is no street."""
SHORT_WORDS = _words(
    "A AGO AH AIR ALL AM AN AND ANY ARE ART AS ASK AT AW BAD BE BED BIG BOX BOY BUT BY CAN "
    "CAT CRY CUT DAD DAY DEAD DID DIE DO DOG DR EAT ELSE END EVE EYE FAR FEW FOR FUN GET GO "
    "GOD GOT GUN HA HAD HAS HE HER HEY HIM HIS HO HOT HOW I ICE IF IN INN IS IT ITS JOY KEY "
    "LADY LAW LET LIE LO LOT LOW MAD MAN MAY ME MEN MOM MR MRS MY NEW NIGHT NO NOT NOW ODD OF "
    "OFF OH OLD ON ONE OR OUR OUT OWN PAY PUT RED RUN SAD SAW SAY SEA SEE SET SHE SIR SIX SKY "
    "SO SON ST STOP SUN TEN THE TIE TO TOO TOP TOW TRY TWO UP US USE VAN VOL VOW WAR WAS WAY "
    "WE WET WHO WHY WIN YES YET YOU"
)
"""Short words that capitals only stress."""
