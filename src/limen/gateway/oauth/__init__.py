"""Who Limen is to the HTTP servers it calls: tokens, where they are kept, and how a person signs in."""
