import sys

try:
    from cfo_bench.cli.main import main
except KeyboardInterrupt:  # Ctrl-C while the program was loaded
    sys.stderr.write("cfo-bench: stopped\n")
    sys.exit(130)

if __name__ == "__main__":
    main()
