"""The command line, a thin layer over the library: a file for each command or group of commands."""
