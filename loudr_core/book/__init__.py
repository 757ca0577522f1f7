"""Reading books: EPUB, Markdown and plain text to a `Book` of folded text."""
