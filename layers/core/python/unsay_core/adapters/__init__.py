"""The ports, implemented on real stores."""
