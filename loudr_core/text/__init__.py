"""From folded text to segments of spoken words, with a proof that nothing was lost."""
