"""Job tables: which segment is spoken by which voice with which seed, and where its audio is."""
