"""BlueTTS 2.5: IPA in, 44.1 kHz speech in seven languages out, by a guided latent flow."""
