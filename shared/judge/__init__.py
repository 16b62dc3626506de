"""One client, one protocol on the wire: how a judge is asked, and what it answered."""
