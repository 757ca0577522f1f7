"""Books that wait to be rendered: declared for the night, or dropped into a folder."""
