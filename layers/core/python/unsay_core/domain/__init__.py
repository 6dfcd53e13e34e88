"""What memories are and what may happen to them: pure, standard library only."""
