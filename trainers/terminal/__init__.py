"""What the commands print: progress, pictures, the next command."""
