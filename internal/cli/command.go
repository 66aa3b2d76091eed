// Package cli is the command sim: it turns flags into calls and results into tables and files, one file a command. It
// holds no physics. Package main only calls it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
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

// command is the whole program as a function of its arguments and surroundings, so that tests run it whole.
type command struct {
	stdout, stderr io.Writer
	getenv         func(string) string
	isTerminal     func(io.Writer) bool // whether a person is at the other end
	now            func() time.Time
	args           []string // as given, for the manifest
	run            func(context.Context, *scenarios.Scenario, scenarios.RunOptions) (*scenarios.Outcome, error)
	cleanup        cleanupList
}

// newCommand is the command as Main runs it.
func newCommand() *command {
	return &command{
		stdout: os.Stdout,
		stderr: os.Stderr,
		getenv: os.Getenv,
		isTerminal: func(w io.Writer) bool {
			f, ok := w.(*os.File)
			return ok && term.IsTerminal(int(f.Fd()))
		},
		now: time.Now,
		run: scenarios.Run,
	}
}

// Main runs the command on the process's arguments and returns its exit code.
func Main() int { return runWithSignals(newCommand()) }

// runWithSignals runs c on the process's arguments. The first interrupt cancels the work in hand, which is not waited for long;
// after it signals have their default effect again, so that a second one kills.
func runWithSignals(c *command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return c.mainUntilCancelled(ctx, os.Args)
}

// Exit codes.
const (
	exitOK           = 0
	exitFailed       = 1   // a run failed
	exitInvalidInput = 2   // unusable input; nothing was written
	exitRegression   = 3   // sim compare found one
	exitInterrupted  = 130 // as a shell reports death by SIGINT
)

// usageError is a fault of the command line, reported in one line.
type usageError string

func (e usageError) Error() string { return string(e) }

func usagef(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// errorList are the errors of several runs, reported one by one.
type errorList []error

func (f errorList) Error() string { return errors.Join(f...).Error() }

// main runs args, args[0] being the program's name, and returns the exit code.
func (c *command) main(ctx context.Context, args []string) int {
	c.args = args[1:]
	out, messages := newCheckedWriter(c.stdout), newCheckedWriter(c.stderr)
	c.stdout, c.stderr = out, messages
	defer messages.flush()
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

// checkedWriter writes to standard output or standard error as text.Screen does, and keeps the first error, as callers that
// print many lines and libraries may ignore it.
type checkedWriter struct {
	out io.Writer // that it writes to

	mu     sync.Mutex // several goroutines write narration
	screen text.Screen
	err    error
}

func newCheckedWriter(w io.Writer) *checkedWriter {
	return &checkedWriter{out: w, screen: text.Screen{W: w}}
}

func (w *checkedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.screen.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// flush writes what text.Screen holds back.
func (w *checkedWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.screen.Flush(); w.err == nil {
		w.err = err
	}
}

// unwrapWriter returns what w writes to if it is a checked writer, else w.
func unwrapWriter(w io.Writer) io.Writer {
	if out, ok := w.(*checkedWriter); ok {
		return out.out
	}
	return w
}

// reportError says what went wrong and returns the exit code for it.
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
		var part *sweepInterrupt
		if errors.As(err, &part) {
			c.logf("%v", part)
			return exitInterrupted
		}
		c.logf("interrupted; %s", nothingWrittenNote)
		return exitInterrupted
	}
	var worse regressionList
	if errors.As(err, &worse) {
		return c.reportRegressions(worse)
	}
	if errors.Is(err, scenarios.ErrInput) { // its lines begin with file and line, as editors like it
		fmt.Fprintln(c.stderr, strings.TrimRight(err.Error(), "\n"))
		return exitInvalidInput
	}
	c.logf("%v", err)
	var usage usageError
	var place *result.PlaceError
	if errors.As(err, &usage) || errors.As(err, &place) {
		return exitInvalidInput
	}
	return exitFailed
}

// logf writes a line of narration. Names and errors in it may hold anything.
func (c *command) logf(format string, args ...any) {
	fmt.Fprintln(c.stderr, "sim: "+text.Line(fmt.Sprintf(format, args...), maxMessageBytes))
}

// maxMessageBytes is the most bytes of a line of narration.
const maxMessageBytes = 490

// hasColours reports whether w takes them.
func (c *command) hasColours(w io.Writer) bool {
	return c.getenv("NO_COLOR") == "" && c.getenv("TERM") != "dumb" && c.isTerminal(unwrapWriter(w))
}

// bold is how to print bold on stdout, nil where that takes no colours.
func (c *command) bold() func(string) string {
	if !c.hasColours(c.stdout) {
		return nil
	}
	return text.Bold
}

func (c *command) app() *cli.App {
	return &cli.App{
		Name:                      "sim",
		Usage:                     "which network finishes a large AI job first, and how far is that from the best possible",
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
			c.listCommand(),
			c.versionCommand(),
			c.completionCommand(),
			c.manCommand(),
			c.completeCommand(),
		},
	}
}

const helpTemplate = `sim - {{.Usage}}

Usage:
   {{.UsageText}}

Commands:{{template "visibleCommandTemplate" .}}

To begin:
   sim run deepseek671b                   runs a scenario; its results are printed and kept under runs/
   sim explain deepseek671b               says where each policy's time went
   sim list scenarios                     says what scenarios come with sim
   sim help run                           lists the flags of a command, with examples
`

// example is a command line and what it does.
type example [2]string

// describe is the description of a command: what is to be said of it, and examples, which help
// and manual show as they are.
func describe(what string, examples ...example) string {
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
