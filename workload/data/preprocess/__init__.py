"""Raw text made into token shards by many workers at once, any of which may be taken away at any time."""
