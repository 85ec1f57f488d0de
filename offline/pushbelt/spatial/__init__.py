"""Parts of a fully spatial pushbelt, each tested alone; not assembled yet (docs/spatial.md)."""
