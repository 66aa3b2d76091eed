// Package cli implements the command sim: it parses flags, calls the packages that simulate, and
// prints or stores their results. It contains no model of a network. Package main only calls
// Main.
//
// Each subcommand has its own file, such as run.go or sweep.go; begin reading there. The type
// command holds the environment of the process, so that tests can run the whole program with
// their own streams, clock and runner. These files are shared:
//
//   - args.go and flags.go parse the command line
//   - outfile.go and outputs.go write the files that flags request
//   - progress.go shows the progress, and interrupt.go ends an interrupted command
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/result"
)

// command is the program with its environment, which tests replace. It runs once.
type command struct {
	// stdout and stderr are the streams. main replaces each by a checkedWriter.
	stdout, stderr io.Writer
	// getenv reads an environment variable.
	getenv func(string) string
	// isTerminal reports whether a person reads the stream.
	isTerminal func(io.Writer) bool
	// terminalWidth returns the number of characters per line of a terminal, or 0 for other
	// streams.
	terminalWidth func(io.Writer) int
	now           func() time.Time // current time
	// args is the command line without the program name, for the manifest.
	args []string
	// run runs a scenario.
	run func(context.Context, *scenarios.Scenario, scenarios.RunOptions) (*scenarios.Outcome, error)
	// cleanup lists the files to remove if the process ends early.
	cleanup cleanupList
}

// newCommand returns the command with the streams, clock, environment and runner of the process.
func newCommand() *command {
	return &command{
		stdout: os.Stdout,
		stderr: os.Stderr,
		getenv: os.Getenv,
		isTerminal: func(w io.Writer) bool {
			f, ok := w.(*os.File)
			return ok && term.IsTerminal(int(f.Fd()))
		},
		terminalWidth: func(w io.Writer) int {
			f, ok := w.(*os.File)
			if !ok {
				return 0
			}
			columns, _, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0
			}
			return columns
		},
		now: time.Now,
		run: scenarios.Run,
	}
}

// Main runs the command on the process's arguments and returns its exit code.
func Main() int { return runWithSignals(newCommand()) }

// runWithSignals runs c with the arguments of the process. The first interrupt cancels the
// context, and the command ends within gracePeriod. After it, signals have their default
// effect, so a second one kills the process.
func runWithSignals(c *command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return c.mainUntilCancelled(ctx, os.Args)
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // a run failed
	// exitInvalidInput stands for invalid input. Nothing was written.
	exitInvalidInput = 2
	// exitRegression means that sim compare found a regression.
	exitRegression = 3
	// exitInterrupted is the code with which shells report death by SIGINT.
	exitInterrupted = 130
)

// usageError is an error of the command line, reported in one line. Its exit code is
// exitInvalidInput.
type usageError string

// Error implements error.
func (e usageError) Error() string { return string(e) }

// usagef returns a usageError with a formatted message.
func usagef(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// errorList holds the errors of several runs, which are reported one by one.
type errorList []error

// Error implements error. It has one line per error.
func (f errorList) Error() string { return errors.Join(f...).Error() }

// main runs the command line args, whose first element is the program name, and returns the
// exit code.
func (c *command) main(ctx context.Context, args []string) int {
	c.args = args[1:]
	// Check all writes to both streams.
	out, messages := newCheckedWriter(c.stdout), newCheckedWriter(c.stderr)
	c.stdout, c.stderr = out, messages
	defer messages.flush()
	// Run the subcommand. The library needs flags before arguments.
	app := c.app()
	args, err := flagsFirst(app, args)
	if err == nil {
		err = app.RunContext(ctx, args)
	}
	out.flush()
	if err == nil {
		err = out.err
	}
	return c.reportError(ctx, err)
}

// checkedWriter writes to standard output or standard error through a text.Screen. It stores
// the first error, because callers that print many lines, and libraries, may ignore errors.
type checkedWriter struct {
	out io.Writer // the underlying stream

	// mu protects the fields below, because several goroutines write messages.
	mu     sync.Mutex
	screen text.Screen
	err    error
}

// newCheckedWriter returns a checkedWriter for w.
func newCheckedWriter(w io.Writer) *checkedWriter {
	return &checkedWriter{out: w, screen: text.Screen{W: w}}
}

// Write implements io.Writer.
func (w *checkedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.screen.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// flush writes the bytes that the text.Screen still holds back.
func (w *checkedWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.screen.Flush(); w.err == nil {
		w.err = err
	}
}

// unwrapWriter returns the underlying stream of w if w is a checkedWriter, else w.
func unwrapWriter(w io.Writer) io.Writer {
	if out, ok := w.(*checkedWriter); ok {
		return out.out
	}
	return w
}

// reportError prints err and returns its exit code. Several errors are printed one by one, and
// the largest of their codes is returned.
func (c *command) reportError(ctx context.Context, err error) int {
	var all errorList
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &all):
		code := exitOK
		for _, e := range all {
			code = max(code, c.reportError(ctx, e))
		}
		return code
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		// An interrupted sweep has stored some cells, and an interrupted run some rows.
		var cells *sweepInterrupt
		var rows *runInterrupt
		switch {
		case errors.As(err, &cells):
			c.logf("%v", cells)
		case errors.As(err, &rows):
			c.logf("%v", rows)
		default:
			c.logf("interrupted; %s", nothingWrittenNote)
		}
		return exitInterrupted
	}
	// Regressions and invalid inputs have their own format.
	var worse regressionList
	if errors.As(err, &worse) {
		return c.reportRegressions(worse)
	}

	// Lines begin with file and line number, as editors expect.
	if errors.Is(err, scenarios.ErrInput) {
		fmt.Fprintln(c.stderr, strings.TrimRight(err.Error(), "\n"))
		return exitInvalidInput
	}
	// All other errors are one line.
	c.logf("%v", err)
	var usage usageError
	var place *result.PlaceError
	if errors.As(err, &usage) || errors.As(err, &place) {
		return exitInvalidInput
	}
	return exitFailed
}

// logf prints one line on standard error, after "sim: ". Untrusted names and error texts in it
// are escaped and shortened, so that they cannot control the terminal.
func (c *command) logf(format string, args ...any) {
	fmt.Fprintln(c.stderr, "sim: "+text.Line(fmt.Sprintf(format, args...), maxMessageBytes))
}

// maxMessageBytes limits a line on standard error so that it stays readable even if it quotes
// a long value: it fills about six lines of a terminal. With "sim: " and the end of line, it has
// fewer than 500 bytes.
const maxMessageBytes = 490

// hasColours reports whether w is a terminal that shows colours and the environment does not
// disable them.
func (c *command) hasColours(w io.Writer) bool {
	return c.getenv("NO_COLOR") == "" && c.getenv("TERM") != "dumb" && c.isTerminal(unwrapWriter(w))
}

// style returns the layout of text on standard output: bold text if it shows colours, and lines
// as long as the terminal is wide.
func (c *command) style() (s text.Style) {
	if c.hasColours(c.stdout) {
		s.Bold = text.Bold
	}
	s.Columns = c.columns()
	return s
}

// columns returns the number of characters per line of standard output: the environment variable
// COLUMNS if it is set, else the width of the terminal. It returns 0 for files and pipes.
func (c *command) columns() int {
	if n, err := strconv.Atoi(c.getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return c.terminalWidth(unwrapWriter(c.stdout))
}

// app returns the definition of all subcommands for the library urfave/cli.
func (c *command) app() *cli.App {
	return &cli.App{
		Name:                      "sim",
		Usage:                     "compare networks for large AI jobs: which finishes first, and how far it is from the optimum",
		UsageText:                 "sim COMMAND [flags] [arguments]",
		Writer:                    c.stdout,
		ErrWriter:                 c.stderr,
		Version:                   result.Version,
		HideVersion:               true,
		DisableSliceFlagSeparator: true, // --set key=[a, b] is one value
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              func(_ *cli.Context, err error, _ bool) error { return usageError(err.Error()) },
		CommandNotFound:           func(*cli.Context, string) {},
		CustomAppHelpTemplate:     helpTemplate,
		Commands: []*cli.Command{
			c.runCommand(),
			c.sweepCommand(),
			c.workerCommand(),
			c.checkCommand(),
			c.explainCommand(),
			c.compareCommand(),
			c.plotCommand(),
			c.reportCommand(),
			c.validateCommand(),
			c.calibrateCommand(),
			c.listCommand(),
			c.versionCommand(),
			c.completionCommand(),
			c.manCommand(),
			c.completeCommand(),
		},
	}
}

// helpTemplate is the output of sim help.
const helpTemplate = `sim - {{.Usage}}

Usage:
   {{.UsageText}}

Commands:{{template "visibleCommandTemplate" .}}

To begin:
   sim run deepseek671b                   run a scenario, print its results and store them under runs/
   sim explain deepseek671b               explain where the time of each policy goes
   sim list scenarios                     list the built-in scenarios
   sim help run                           show the flags of a command, with examples
`

// example is a command line and its explanation, which may be empty.
type example [2]string

// describeExamples is describe for a command that needs no text besides its examples.
func describeExamples(examples ...example) string { return describe("", examples...) }

// describe returns the description of a command for its help text and the manual: the text what,
// which may be empty, and a list of examples.
func describe(what string, examples ...example) string {
	// Align the explanations of the examples.
	width := 0
	for _, e := range examples {
		width = max(width, len(e[0]))
	}
	var b strings.Builder
	if what != "" {
		b.WriteString(what + "\n\n")
	}
	b.WriteString("Examples:\n\n")
	for _, e := range examples {
		b.WriteString(strings.TrimRight(fmt.Sprintf("    %-*s  %s", width, e[0], e[1]), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
