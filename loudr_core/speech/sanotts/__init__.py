"""sanoTTS Root A: three small convolutional students of a Piper voice, without any randomness."""
