"""loudr-1 and loudr-1-turbo: text to speech tokens, tokens to mel, mel to samples, exactly."""
