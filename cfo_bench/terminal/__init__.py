"""What a person sees and types on a terminal: progress, tables, tab completion."""
