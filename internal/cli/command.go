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
	terminal       func(io.Writer) bool // whether a person is at the other end
	now            func() time.Time
	args           []string // as given, for the manifest
	run            func(context.Context, *scenarios.Scenario, scenarios.RunOptions) (*scenarios.Outcome, error)
	left           leftovers
}

// standard is the command as Main runs it.
func standard() *command {
	return &command{
		stdout: os.Stdout,
		stderr: os.Stderr,
		getenv: os.Getenv,
		terminal: func(w io.Writer) bool {
			f, ok := w.(*os.File)
			return ok && term.IsTerminal(int(f.Fd()))
		},
		now: time.Now,
		run: scenarios.Run,
	}
}

// Main runs the command on the process's arguments and returns its exit code.
func Main() int { return start(standard()) }

// start runs c on the process's arguments. The first interrupt cancels the work in hand, which is not waited for long;
// after it signals have their default effect again, so that a second one kills.
func start(c *command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return c.mainWithin(ctx, os.Args)
}

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1   // a run failed
	exitUnusable    = 2   // unusable input; nothing was written
	exitRegression  = 3   // sim compare found one
	exitInterrupted = 130 // as a shell reports death by SIGINT
)

// usageError is a fault of the command line, reported in one line.
type usageError string

func (e usageError) Error() string { return string(e) }

func usagef(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// failures are the errors of several runs, reported one by one.
type failures []error

func (f failures) Error() string { return errors.Join(f...).Error() }

// main runs args, args[0] being the program's name, and returns the exit code.
func (c *command) main(ctx context.Context, args []string) int {
	c.args = args[1:]
	out, narration := newChecked(c.stdout), newChecked(c.stderr)
	c.stdout, c.stderr = out, narration
	defer narration.flush()
	app := c.app()
	args, err := arrange(app, args)
	if err == nil {
		err = app.RunContext(ctx, args)
	}
	out.flush()
	if err == nil {
		err = out.err
	}
	return c.report(ctx, err)
}

// checked writes to standard output or standard error as text.Screen does, and keeps the first error, as callers that
// print many lines and libraries may ignore it.
type checked struct {
	bare io.Writer // that it writes to

	mu     sync.Mutex // several goroutines write narration
	screen text.Screen
	err    error
}

func newChecked(w io.Writer) *checked { return &checked{bare: w, screen: text.Screen{W: w}} }

func (w *checked) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.screen.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// flush writes what text.Screen holds back.
func (w *checked) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.screen.Flush(); w.err == nil {
		w.err = err
	}
}

// bare returns what w writes to if it is a checked writer, else w.
func bare(w io.Writer) io.Writer {
	if out, ok := w.(*checked); ok {
		return out.bare
	}
	return w
}

// report says what went wrong and returns the exit code for it.
func (c *command) report(ctx context.Context, err error) int {
	var all failures
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &all):
		code := exitDone
		for _, e := range all {
			code = max(code, c.report(ctx, e))
		}
		return code
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		var part *interrupted
		if errors.As(err, &part) {
			c.say("%v", part)
			return exitInterrupted
		}
		c.say("interrupted; %s", nothingWritten)
		return exitInterrupted
	}
	var worse regressions
	if errors.As(err, &worse) {
		return c.reportRegressions(worse)
	}
	if errors.Is(err, scenarios.ErrInput) { // its lines begin with file and line, as editors like it
		fmt.Fprintln(c.stderr, strings.TrimRight(err.Error(), "\n"))
		return exitUnusable
	}
	c.say("%v", err)
	var usage usageError
	var place *result.PlaceError
	if errors.As(err, &usage) || errors.As(err, &place) {
		return exitUnusable
	}
	return exitFailed
}

// say writes a line of narration. Names and errors in it may hold anything.
func (c *command) say(format string, args ...any) {
	fmt.Fprintln(c.stderr, "sim: "+text.Line(fmt.Sprintf(format, args...), mostNarration))
}

// mostNarration is the most bytes of a line of narration.
const mostNarration = 490

// colours reports whether w takes them.
func (c *command) colours(w io.Writer) bool {
	return c.getenv("NO_COLOR") == "" && c.getenv("TERM") != "dumb" && c.terminal(bare(w))
}

// bold is how to print bold on stdout, nil where that takes no colours.
func (c *command) bold() func(string) string {
	if !c.colours(c.stdout) {
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
