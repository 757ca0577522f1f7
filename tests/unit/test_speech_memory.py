import pytest

from loudr_core.errors import SynthesisError
from loudr_core.speech.answering import answer_each
from loudr_core.speech.memory import is_out_of_memory
from loudr_core.speech.protocol import Speech, SpeechRequest

NATIVE = type("RuntimeException", (Exception,), {"__module__": "onnxruntime.capi"})


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        MemoryError("Unable to allocate 3.2 GiB for an array"),
        RuntimeError("std::bad_alloc"),
        NATIVE("[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Exception during run: bad allocation"),
        NATIVE("BFCArena::AllocateRawInternal Failed to allocate memory for requested buffer"),
        NATIVE("CUDA failure 2: out of memory ; GPU=0"),
    ],
)
def test_every_library_has_its_own_word_for_it(error: Exception) -> None:
    assert is_out_of_memory(error)
    wrapped = SynthesisError("the voice failed")
    wrapped.__cause__ = error
    assert is_out_of_memory(wrapped)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no reading of 'I am out of memory, he said'"),
        SynthesisError("the voice cannot say 'out of memory'"),
        OSError(12, "Cannot allocate memory"),
        RuntimeError("shapes do not match"),
    ],
)
def test_what_is_something_else(error: Exception) -> None:
    assert not is_out_of_memory(error)


def test_a_lack_of_memory_ends_the_answers() -> None:
    def speak(request: SpeechRequest) -> Speech:
        if request.id == "bad":
            raise ValueError("no such word")
        raise RuntimeError("bad allocation")

    requests = [
        SpeechRequest(id=name, text="A word.", language="en", voice="low", seed=1)
        for name in ("bad", "starved")
    ]
    answers = answer_each(requests, speak, cancel=None)
    assert next(answers).error == "no such word"
    with pytest.raises(RuntimeError, match="bad allocation"):
        next(answers)
