// This file defines sim completion, and completes command lines for shells.

package cli

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"sim/fabric/machine"
	"sim/internal/text"
	"sim/plots/chart"
	"sim/scenarios"
	"sim/scenarios/accuracy"
	"sim/scenarios/compare"
	"sim/scenarios/result"
)

// shells lists the shells that have a completion script.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// scripts holds the completion scripts. A script calls "sim __complete WORD..." and offers the
// printed lines as continuations of the last word. If one of the lines is completeFiles, the
// script also completes file names itself.
//
//go:embed shells
var scripts embed.FS

// completeFiles is the output line that requests completion of file names.
const completeFiles = ":files"

// completionCommand returns the definition of sim completion.
func (c *command) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a completion script for a shell",
		ArgsUsage: "bash|zsh|fish|powershell",
		Description: describeExamples(
			example{"eval \"$(sim completion bash)\"", "in ~/.bashrc"},
			example{"eval \"$(sim completion zsh)\"", "in ~/.zshrc, after compinit"},
			example{"sim completion fish | source", "in config.fish"},
			example{"sim completion powershell | Out-String | Invoke-Expression", "in $PROFILE"}),
		Action: func(cc *cli.Context) error {
			if cc.NArg() != 1 {
				return usagef("sim completion needs a shell: bash, zsh, fish or powershell")
			}
			name := cc.Args().First()
			if !slices.Contains(shells, name) {
				return usagef("there is no completion for %q%s", name, text.DidYouMean(name, shells, "there is for bash, zsh, fish and powershell"))
			}
			// The scripts are named after their shells.
			script, err := scripts.ReadFile("shells/sim." + name)
			if err != nil {
				return err
			}
			_, err = c.stdout.Write(script)
			return err
		},
	}
}

// completeCommand returns the definition of the hidden command that the scripts call.
func (c *command) completeCommand() *cli.Command {
	return &cli.Command{
		Name:            "__complete",
		Hidden:          true,
		SkipFlagParsing: true,
		Action: func(cc *cli.Context) error {
			for _, s := range complete(cc.App, cc.Args().Slice()) {
				fmt.Fprintln(c.stdout, s)
			}
			return nil
		},
	}
}

// complete returns the continuations of the last word of a command line without the program
// name.
func complete(app *cli.App, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	// Keep the candidates that begin with the last word.
	last, before := words[len(words)-1], words[:len(words)-1]
	var out []string
	for _, s := range candidates(app, before, last) {
		if strings.HasPrefix(s, last) || s == completeFiles {
			out = append(out, s)
		}
	}
	return out
}

// candidates returns all words that can follow the words before. last is the word that is being
// completed; it decides only between flags and arguments.
func candidates(app *cli.App, before []string, last string) []string {
	if len(before) == 0 {
		out := []string{"help"}
		for _, c := range app.Commands {
			if !c.Hidden {
				out = append(out, c.Name)
			}
		}
		return out
	}
	// The second word depends on the command.
	cmd := findCommand(app, before[0])
	if cmd == nil {
		if before[0] == "help" { // the names of commands follow
			var noWords []string
			return candidates(app, noWords, last)
		}
		return nil
	}
	// After a flag that needs a value, complete the value.
	if f := findFlag(cmd, strings.TrimLeft(before[len(before)-1], "-")); f != nil && strings.HasPrefix(before[len(before)-1], "-") {
		if _, ok := f.(*cli.BoolFlag); !ok {
			return flagValues(cmd.Name, f.Names()[0])
		}
	}
	// Complete the name of a flag, or else a positional argument.
	if strings.HasPrefix(last, "-") {
		var out []string
		for _, f := range cmd.Flags {
			out = append(out, withDashes(f.Names()[0]))
		}
		return out
	}
	// Positional arguments follow the values of flags.
	_, positional, err := splitArgs(cmd, before[1:])
	if err != nil {
		return nil
	}
	return argumentValues(cmd.Name, positional)
}

// flagValues returns the possible values of a flag of a command. It returns nil for flags whose
// values are free text, and completeFiles for names of files.
func flagValues(cmd, flag string) []string {
	switch {
	case cmd == "compare" && flag == "format":
		return compareFormatNames()
	case cmd == "compare" && flag == "metric":
		return append([]string{compare.AllMetrics}, result.FailureMetrics()...)
	}
	// These flags have the same values in all commands.
	switch flag {
	case "machine":
		return append(machine.Names(), completeFiles)
	case "without":
		return accuracy.Parts()
	case "format":
		return []string{"png", "svg", "png,svg"}
	case "policy":
		return slices.Concat(namesOfKind("allocators"), namesOfKind("multi_job_allocators"), namesOfKind("routers"))
	case "kind":
		return chart.Kinds
	case "metric":
		return metricNames()
	case "out", "trace", "plan-out", "routes-out", "goal-out", "chakra-out", "cm-out", "spec", "creds", "token-file", "data", "csv":
		return []string{completeFiles}
	}
	return nil
}

// argumentValues returns the possible values of the next positional argument of a command.
// before has the previous arguments.
func argumentValues(cmd string, before []string) []string {
	switch {
	case cmd == "run" || cmd == "check":
		return append(scenarios.EmbeddedScenarios(), completeFiles)
	case cmd == "explain" && len(before) == 0:
		return append(namesOfKind("runs"), completeFiles)
	case cmd == "explain":
		// The other arguments of sim explain are policies of the run.
		run, err := findRun(before[0])
		if err != nil {
			return nil
		}
		var out []string
		for _, p := range run.Detail.Policies {
			out = append(out, p.Policy)
		}
		return out
	case cmd == "compare" && len(before) < 2:
		return append(result.Scenarios(result.List(runsRoot)), completeFiles)
	case cmd == "plot" || cmd == "report":
		return append(result.Scenarios(result.List(runsRoot)), completeFiles)
	case cmd == "list" && len(before) == 0:
		out := []string{"keys", "metrics"}
		for _, l := range nameLists() {
			out = append(out, l.kind)
		}
		return out
	case cmd == "validate":
		return accuracy.ClassNames()
	case cmd == "completion" && len(before) == 0:
		return shells
	}
	return nil
}

// namesOfKind returns the names that sim list prints for a kind.
func namesOfKind(kind string) []string {
	var out []string
	for _, l := range nameLists() {
		if l.kind != kind {
			continue
		}
		for _, i := range l.items {
			out = append(out, i.Name)
		}
	}
	if kind == "runs" {
		out = append(out, result.Scenarios(result.Runs(result.List(runsRoot)))...)
	}
	return out
}
