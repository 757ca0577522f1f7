import pytest

from loudr_core.errors import ConfigError
from loudr_core.text.lexicon import Lexicon


def test_whole_words_and_cases():
    lexicon = Lexicon({"cholmondeley": "chumley", "Polish": "Poe-lish", "st ives": "Saint Ives"})
    assert lexicon.apply("Cholmondeley and cholmondeley's, CHOLMONDELEY.") == (
        "Chumley and chumley's, Chumley."
    )
    assert lexicon.apply("Polish polish, Polished") == "Poe-lish polish, Polished"
    assert lexicon.apply("St Ives") == "Saint Ives"


def test_the_longest_entry_wins():
    lexicon = Lexicon({"new": "noo", "new york": "noo yawk"})
    assert lexicon.apply("new york is new") == "noo yawk is noo"


def test_an_empty_lexicon_changes_nothing():
    assert Lexicon().apply("As it was.") == "As it was."
    assert len(Lexicon()) == 0


def test_digest_depends_on_entries_alone():
    left = Lexicon({"a": "b", "c": "d"})
    assert left.digest() == Lexicon({"c": "d", "a": "b"}).digest()
    assert left.digest() != Lexicon({"a": "b"}).digest()
    assert Lexicon().digest() != left.digest()


def test_read_takes_a_table_or_the_top_level(tmp_path):
    path = tmp_path / "lexicon.toml"
    path.write_text('[words]\nOsei = "Oh-say"\n', encoding="utf-8")
    assert Lexicon.read(path).apply("Doctor Osei") == "Doctor Oh-say"
    path.write_text('Osei = "Oh-say"\n', encoding="utf-8")
    assert Lexicon.read(path).apply("Doctor Osei") == "Doctor Oh-say"


@pytest.mark.parametrize("content", ["not toml", "a = 5", 'a = ""', '"..." = "x"', "words = 3"])
def test_a_bad_file_is_one_line(tmp_path, content):
    path = tmp_path / "lexicon.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        Lexicon.read(path)
    assert "\n" not in caught.value.message


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="is not there"):
        Lexicon.read(tmp_path / "none.toml")


def test_pieces_are_the_text_and_what_is_said_as_it_is_written():
    lexicon = Lexicon({"Ines": "iˈnes", "the sea": "ðə siː"})
    assert lexicon.pieces("Ines saw The sea.") == [("", "iˈnes"), (" saw ", "ðə siː"), (".", "")]
    assert lexicon.pieces("Ines's boat, ines") == [("Ines's boat, ines", "")]
    assert Lexicon({}).pieces("the sea") == [("the sea", "")]
    assert lexicon.pieces("") == [("", "")]
